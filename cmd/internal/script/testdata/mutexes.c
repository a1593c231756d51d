/* Two threads that wait for each other's mutex, or with an argument one that waits for the end of another. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *second(void *unused)
{
	pthread_mutex_lock(&b);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&a);
	return unused;
}

static void *waits(void *unused)
{
	pause();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argv;
	if (argc > 1) {
		pthread_create(&t, NULL, waits, NULL);
		pthread_join(t, NULL);
	}
	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, second, NULL);
	pthread_mutex_lock(&a);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(&b);
	return 0;
}
