// deathsig: asks for SIGKILL at the death of its parent, and ends some time later.
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

int main(void)
{
	struct timespec t = {0, 30000000};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	nanosleep(&t, 0);
	return 0;
}
