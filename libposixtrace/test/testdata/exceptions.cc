// A C++ program with trace points before main, after main, in destructors that exceptions run, in
// handlers of exceptions, and in destructors of thread-local objects.
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <trace.h>

namespace {

class Point {
public:
	explicit Point(const char *name)
	{
		if (posix_trace_eventid_open(name, &id_) != 0)
			throw std::runtime_error(name);
	}
	void operator()(const std::string &data) const { posix_trace_event(id_, data.data(), data.size()); }

private:
	trace_event_id_t id_ = 0;
};

const Point construct("construct"), destroy("destroy"), unwind("unwind"), handle("handle"), leave("leave");

struct Static {
	Static() { construct("before main"); }
	~Static() { destroy("after main"); }
} object;

struct Local {
	bool used = false;
	~Local() { leave("thread"); }
};
thread_local Local local;

void fall(int depth)
{
	struct Guard {
		int depth;
		~Guard() { unwind(std::to_string(depth)); }
	} guard{depth};
	if (depth == 0)
		throw std::runtime_error("bottom");
	fall(depth - 1);
}

void work()
{
	local.used = true;
	for (int i = 0; i < 100; i++) {
		try {
			fall(5);
		} catch (const std::exception &e) {
			handle(e.what());
		}
	}
}

} // namespace

int main()
{
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(work);
	for (auto &t : threads)
		t.join();
}
