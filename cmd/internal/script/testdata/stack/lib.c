/* A library that is loaded later, and calls back. */
int through(int (*f)(int), int n)
{
	volatile char room[200];
	room[n] = 1;
	return f(n + room[n]) + 1;
}
