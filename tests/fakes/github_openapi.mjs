// Cuts GitHub's own OpenAPI description down to the calls that nightgate makes, with everything they refer to, without
// prose and examples:
//   npm install @octokit/openapi@23.0.2 && node github_openapi.mjs node_modules/@octokit/openapi > github_openapi.json
// Every response is offered as application/vnd.github+json too, which is what nightgate asks for.
import fs from 'fs'

const directory = process.argv[2]
const about = JSON.parse(fs.readFileSync(`${directory}/package.json`, 'utf8'))
const whole = JSON.parse(fs.readFileSync(`${directory}/generated/api.github.com.json`, 'utf8'))

const wanted = {
  '/user': ['get'],
  '/repos/{owner}/{repo}/issues': ['get', 'post'],
  '/repos/{owner}/{repo}/issues/{issue_number}': ['get', 'patch'],
  '/repos/{owner}/{repo}/issues/{issue_number}/comments': ['get', 'post'],
  '/repos/{owner}/{repo}/issues/comments/{comment_id}': ['patch', 'delete'],
  '/repos/{owner}/{repo}/commits/{commit_sha}/pulls': ['get'],
  '/repos/{owner}/{repo}/statuses/{sha}': ['post'],
}
const prose = new Set(['description', 'summary', 'externalDocs', 'x-github', 'example', 'examples', 'tags', 'operationId',
  'headers'])  // a Link header made up by a mock is none

// `names`: the keys of this object are names chosen by the API, not words of OpenAPI.
function cut(value, names = false) {
  if (Array.isArray(value)) return value.map((item) => cut(item))
  if (value === null || typeof value !== 'object') return value
  const out = {}
  for (const [key, inner] of Object.entries(value)) {
    if (!names && prose.has(key) && !(key === 'description' && 'content' in value)) continue
    if (key === 'content' && !names && inner['application/json']) {
      const json = cut(inner['application/json'])
      out[key] = { 'application/json': json, 'application/vnd.github+json': json }
    } else {
      out[key] = cut(inner, key === 'properties' || key === 'schemas' || key === 'responses')
    }
  }
  return out
}

const paths = {}
for (const [path, methods] of Object.entries(wanted)) {
  if (!whole.paths[path]) throw new Error(`no ${path} in this description`)
  paths[path] = {}
  for (const method of methods) paths[path][method] = cut(whole.paths[path][method])
}

// What is referred to, and what that refers to.
const components = {}
const queue = [paths]
const seen = new Set()
while (queue.length > 0) {
  for (const [, reference] of JSON.stringify(queue.pop()).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
    if (seen.has(reference)) continue
    seen.add(reference)
    const [kind, name] = reference.split('/')
    if (kind === 'examples') continue
    const part = cut(whole.components[kind][name])
    components[kind] = components[kind] ?? {}
    components[kind][name] = part
    queue.push(part)
  }
}
// OpenAPI wants a description in every response.
function described(responses) {
  for (const response of Object.values(responses)) if (!response.$ref) response.description ??= ''
}
for (const methods of Object.values(paths)) for (const method of Object.values(methods)) described(method.responses)
described(components.responses ?? {})

const slice = {
  openapi: whole.openapi,
  info: { title: `GitHub REST API, cut down (from ${about.name} ${about.version})`, version: whole.info.version,
    license: { name: 'MIT', url: 'https://spdx.org/licenses/MIT' } },
  servers: [{ url: 'https://api.github.com' }],
  paths,
  components,
}
process.stdout.write(JSON.stringify(slice) + '\n')
