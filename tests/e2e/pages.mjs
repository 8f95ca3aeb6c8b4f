// Opens pages in a headless browser and says what is wrong with them: node pages.mjs JOB.json, the answer on stdout.
// Job: {"modules": DIR, "browser": PATH, "profile": DIR, "shots": DIR or "", "pages": [{"name":..,"file":..,"texts":[..],"quick":..}],
//       "widths": [..], "schemes": [..]}
// Answer: a list of {"page", "width", "scheme", "faults": [..]}.
import fs from 'node:fs';
import path from 'node:path';
import {createRequire} from 'node:module';
import {pathToFileURL} from 'node:url';

const job = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
const load = createRequire(path.join(job.modules, 'x.js'));
const puppeteer = load('puppeteer-core');
const axe = fs.readFileSync(load.resolve('axe-core/axe.min.js'), 'utf8');

// Runs in the page: sideways scrolling, hostile names that became markup, texts that must be seen as they are.
function look(texts) {
  const faults = [], root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) faults.push(`scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}`);
  if (window.hostile) faults.push('a name was run as a script');
  if (document.querySelector('script:not([src]),img,iframe,object,embed,[onerror],[onload]')) faults.push('markup that is not ours');
  for (const text of texts) if (!root.textContent.includes(text)) faults.push(`not shown as text: ${text.slice(0, 60)}`);
  for (const a of document.querySelectorAll('a[href]')) if (/^[a-z]+:/i.test(a.getAttribute('href'))) faults.push(`a link off the pages: ${a.getAttribute('href')}`);
  return faults;
}

// A quick page is seen wide and light, and narrow and dark.
// Loaded once, then looked at in every width and scheme; what is said or asked for counts for the first of them.
async function check(browser, wanted) {
  const heard = [], page = await browser.newPage();
  page.on('console', message => heard.push(`console: ${message.text()}`));
  page.on('pageerror', error => heard.push(`error: ${error.message}`));
  page.on('requestfailed', request => heard.push(`request failed: ${request.url()}`));
  page.on('request', request => {
    if (!request.url().startsWith('file://') && !request.url().startsWith('data:')) heard.push(`request: ${request.url()}`);
  });
  const answers = [];
  for (const width of job.widths) {
    for (const scheme of job.schemes) {
      if (wanted.quick && (width === job.widths[0]) !== (scheme === job.schemes[0])) continue;
      await page.setViewport({width, height: 900});
      await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: scheme}]);
      if (answers.length === 0) {
        await page.goto(pathToFileURL(wanted.file).href, {waitUntil: 'load'});
        await page.evaluate(axe);
      }
      const faults = await page.evaluate(look, wanted.texts ?? []);
      if (job.shots) await page.screenshot({path: path.join(job.shots, `${wanted.name}-${width}-${scheme}.png`), fullPage: true});
      const found = await page.evaluate(() => window.axe.run(document, {resultTypes: ['violations'], preload: false}));
      for (const v of found.violations) faults.push(`axe ${v.id}: ${v.help}; ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | ')}`);
      answers.push({page: wanted.name, width, scheme, faults: [...heard.splice(0), ...faults]});
    }
  }
  answers.push(await print(page, wanted));
  await page.close();
  return answers;
}

// As it comes out of a printer, from a browser that shows pages dark: white paper, nothing cut at the edge of A4 with our
// margins, folded parts open.
async function print(page, wanted) {
  await page.emulateMediaFeatures([{name: 'prefers-color-scheme', value: 'dark'}]);
  await page.emulateMediaType('print');
  await page.setViewport({width: 703, height: 1000});
  const faults = await page.evaluate(() => {
    const out = [], width = document.documentElement.clientWidth;
    const paper = getComputedStyle(document.body).backgroundColor;
    if (paper !== 'rgb(255, 255, 255)') out.push(`printed on ${paper}`);
    for (const at of document.querySelectorAll('table,svg.chart,pre,p,.calendar')) {
      const box = at.getBoundingClientRect();
      if (box.right > width + 1) out.push(`cut when printed: ${at.tagName} ${at.textContent.trim().slice(0, 40)}, ${Math.round(box.right)} > ${width}`);
    }
    for (const at of document.querySelectorAll('details > :not(summary)'))
      if (at.getBoundingClientRect().height === 0 && at.textContent.trim()) out.push(`folded when printed: ${at.textContent.trim().slice(0, 40)}`);
    for (const a of document.querySelectorAll('main a:not(.calendar a)'))
      if (!getComputedStyle(a).textDecorationLine.includes('underline')) { out.push('a link that does not look like one when printed'); break; }
    return out;
  });
  if (job.shots) {
    await page.screenshot({path: path.join(job.shots, `${wanted.name}-print.png`), fullPage: true});
    await page.pdf({path: path.join(job.shots, `${wanted.name}.pdf`), preferCSSPageSize: true, format: 'A4'});
  }
  return {page: wanted.name, width: 'A4', scheme: 'print', faults};
}

const browser = await puppeteer.launch({executablePath: job.browser, headless: true, userDataDir: job.profile, args: [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync', '--hide-scrollbars', '--force-device-scale-factor=1']});
try {
  const answers = [];
  for (const wanted of job.pages) {
    answers.push(...await check(browser, wanted));
  }
  console.log(JSON.stringify(answers));
} finally {
  await browser.close();
}
