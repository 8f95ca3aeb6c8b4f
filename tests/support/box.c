/* The whole content of the tests' images: one static program that does what its arguments say, in order. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void end(int signal) { _exit(signal == SIGTERM ? 0 : 1); }

int main(int argc, char** argv) {
  signal(SIGTERM, end); /* process 1 of a container ignores what it does not handle */
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "say") == 0 && i + 1 < argc) printf("%s\n", argv[++i]);
    if (strcmp(argv[i], "complain") == 0 && i + 1 < argc) fprintf(stderr, "%s\n", argv[++i]);
    if (strcmp(argv[i], "env") == 0 && i + 1 < argc) printf("%s\n", getenv(argv[++i]) ? getenv(argv[i]) : "(unset)");
    if (strcmp(argv[i], "exit") == 0 && i + 1 < argc) return atoi(argv[++i]);
    if (strcmp(argv[i], "wait") == 0) {
      for (;;) pause();
    }
    if (strcmp(argv[i], "spin") == 0 && i + 1 < argc) {
      long turns = atol(argv[++i]) * 1000000L;
      for (volatile long k = 0; k < turns; ++k) {
      }
    }
    if (strcmp(argv[i], "eat") == 0 && i + 1 < argc) {
      size_t bytes = (size_t)atol(argv[++i]) << 20;
      char* memory = malloc(bytes);
      if (memory == NULL) return 9;
      for (size_t k = 0; k < bytes; k += 4096) memory[k] = (char)k;
      printf("ate %d\n", memory[bytes / 2]);
    }
  }
  return 0;
}
