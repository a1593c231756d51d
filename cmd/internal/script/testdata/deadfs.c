/*
 * A file system in user space that stops to answer. It mounts itself on DIR, in a namespace of mounts of its own,
 * prints a line, and answers until a process looks up the name "die" there. It ends with its standard input.
 *
 * DIR has a directory d, files f and g, a FIFO p, and prog, whose content is that of PROGRAM.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static int fuse, program;
static off_t size;

static const struct node { const char *name; mode_t mode; } nodes[] = {
	{"", S_IFDIR | 0755}, {"d", S_IFDIR | 0755}, {"f", S_IFREG | 0666}, {"g", S_IFREG | 0666}, {"p", S_IFIFO | 0666}, {"prog", S_IFREG | 0755},
};
enum { count = sizeof nodes / sizeof nodes[0], root = FUSE_ROOT_ID, prog = count };

static void attributes(struct fuse_attr *a, uint64_t id)
{
	memset(a, 0, sizeof *a);
	a->ino = id;
	a->mode = nodes[id - root].mode;
	a->nlink = 1;
	a->size = id == prog ? size : 4096;
	a->blksize = 4096;
}

static void answer(uint64_t unique, int error, const void *data, size_t n)
{
	static char b[1 << 20];
	struct fuse_out_header h = {.len = sizeof h + n, .error = -error, .unique = unique};

	memcpy(b, &h, sizeof h);
	memcpy(b + sizeof h, data, n);
	if (write(fuse, b, h.len) < 0 && errno != ENOENT) /* the caller was interrupted */
		perror("deadfs: write");
}

/* Returns 0 if it is to answer no more. */
static int serve(const struct fuse_in_header *h, const void *in)
{
	static char content[1 << 17];
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = FUSE_KERNEL_MINOR_VERSION, .max_write = 65536, .max_readahead = 65536};
	struct fuse_entry_out entry = {0};
	struct fuse_attr_out attr = {0};
	struct fuse_open_out opened = {0};
	struct fuse_statfs_out statfs = {0};
	const struct fuse_read_in *range = in;
	ssize_t n = 0;

	switch (h->opcode) {
	case FUSE_INIT:
		answer(h->unique, 0, &init, sizeof init);
		break;
	case FUSE_LOOKUP:
		if (strcmp(in, "die") == 0)
			return 0;
		for (int i = 1; i < count; i++)
			if (strcmp(in, nodes[i].name) == 0) {
				entry.nodeid = root + i;
				attributes(&entry.attr, entry.nodeid);
			}
		answer(h->unique, entry.nodeid ? 0 : ENOENT, &entry, entry.nodeid ? sizeof entry : 0);
		break;
	case FUSE_GETATTR:
		attributes(&attr.attr, h->nodeid);
		answer(h->unique, 0, &attr, sizeof attr);
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(h->unique, 0, &opened, sizeof opened);
		break;
	case FUSE_READ:
		if (h->nodeid == prog)
			n = pread(program, content, range->size, range->offset);
		else if (range->offset < 4096)
			n = 4096 - range->offset;
		answer(h->unique, 0, content, n > 0 ? n : 0);
		break;
	case FUSE_STATFS:
		answer(h->unique, 0, &statfs, sizeof statfs);
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		answer(h->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(h->unique, ENOSYS, NULL, 0);
	}
	return 1;
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[1 << 17];
	char options[100];
	struct stat st;
	int alive = 1;

	if (argc < 3 || (program = open(argv[2], O_RDONLY | O_CLOEXEC)) < 0 || fstat(program, &st) < 0 ||
	    (fuse = open("/dev/fuse", O_RDWR | O_CLOEXEC)) < 0 || unshare(CLONE_NEWNS) < 0 ||
	    mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		goto failed;
	size = st.st_size;
	snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", fuse);
	if (mount("dead", argv[1], "fuse.dead", MS_NOSUID, options) < 0)
		goto failed;
	puts("mounted");
	fflush(stdout);
	for (;;) {
		struct pollfd p[] = {{.fd = fuse, .events = POLLIN}, {.fd = 0, .events = POLLIN}};
		const struct fuse_in_header *h = (const void *)request;
		ssize_t n;

		if (poll(p, 2, -1) < 0 || p[1].revents)
			return 0;
		if (!(p[0].revents & POLLIN))
			continue;
		n = read(fuse, request, sizeof request);
		if (n >= (ssize_t)sizeof *h && alive)
			alive = serve(h, h + 1);
	}
failed:
	perror("deadfs");
	return 1;
}
