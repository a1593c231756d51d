// leak [leak]: a program for LeakSanitizer.
#include <stdlib.h>

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) {
		void *volatile lost = malloc(10);
		lost = 0;
		(void)lost;
	}
	return 0;
}
