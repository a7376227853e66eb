// A web server with requests of known costs: the kinds of Table 1 of the Magpie paper, one that
// reads from disk, and a "driver" that waits busily in some requests. It writes its own account of
// the processor time of each request.
//
// usage: kinds FILES ACCOUNT [--own] [--workers N] [--helpers N] [--driver N]
//
// It prints the port that it listens on. FILES is a folder for the files that it sends. At SIGTERM
// it writes ACCOUNT (CSV) and ends. A request is `GET /K/NUMBER`, with K a letter:
//   a  a thread spins for 30 ms                      b  a thread spins for 15 ms
//   c  a file of 12 KB                               d  a file of 5 KB
//   e  two threads spin for 15 ms each, concurrently
//   f  a thread spins for 7.5 ms, signals another and waits; that one spins for 15 ms; then the
//      first spins for 7.25 ms
//   h  256 KB are read from disk, not from the cache; the first of them are sent
// All requests have one length, and so have all responses but those of `c` and `d`.
//
// A thread waits for requests on all connections and hands each to a worker. With --own each
// connection has a thread of its own. With --driver N, every Nth response is sent by a "driver"
// that waits busily for 100 ms.
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace {

constexpr int64_t MILLISECOND = 1'000'000;
constexpr size_t DISK_BYTES = 256 << 10;

int64_t clock_of(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int64_t now() { return clock_of(CLOCK_REALTIME); }
int64_t used_by_thread() { return clock_of(CLOCK_THREAD_CPUTIME_ID); }
int64_t used_by_process() { return clock_of(CLOCK_PROCESS_CPUTIME_ID); }
int own_tid() { return static_cast<int>(syscall(SYS_gettid)); }

[[noreturn]] void fail(const char *what) {
    perror(what);
    exit(1);
}

// The costs of a request as its threads measure them: each from taking the request up until nothing
// is left to do for it, including the hand-over. Times in nanoseconds; clock times since the Unix
// epoch.
struct Account {
    long number = -1;
    char kind = '?';
    int reader = 0, worker = 0, helper = 0;
    // Before and after the call that read the request; after the one that sent the response.
    int64_t read_begin = 0, read_end = 0, end = 0;
    int64_t reader_ns = 0, worker_ns = 0, helper_ns = 0;
    bool driver = false;
};

// Work of a fixed number of steps. Each needs the result of the previous one, so that the duration
// does not depend on the core's other load.
uint64_t steps(uint64_t count) {
    uint64_t value = count | 1;
    for (uint64_t step = 0; step < count; step++) value = value * 6364136223846793005u + 1;
    return value;
}

std::atomic<uint64_t> sink;
uint64_t steps_of_millisecond = 0;

void calibrate() {
    constexpr uint64_t COUNT = 2'000'000;
    int64_t least = INT64_MAX;
    for (int round = 0; round < 20; round++) {
        int64_t begin = used_by_thread();
        sink += steps(COUNT);
        least = std::min(least, used_by_thread() - begin);
    }
    steps_of_millisecond = COUNT * MILLISECOND / least;
}

void spin(double milliseconds) {
    sink += steps(static_cast<uint64_t>(milliseconds * steps_of_millisecond));
}

// Threads that process tasks in order.
class Pool {
public:
    void start(int threads) {
        for (int thread = 0; thread < threads; thread++) std::thread([this] { work(); }).detach();
    }

    void hand(std::function<void()> task) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            tasks.push_back(std::move(task));
        }
        there.notify_one();
    }

private:
    std::mutex mutex;
    std::condition_variable there;
    std::deque<std::function<void()>> tasks;

    void work() {
        for (;;) {
            std::unique_lock<std::mutex> lock(mutex);
            there.wait(lock, [this] { return !tasks.empty(); });
            std::function<void()> task = std::move(tasks.front());
            tasks.pop_front();
            lock.unlock();
            task();
        }
    }
};

// An event that one thread waits for and another signals.
class Done {
public:
    void say() {
        // Under the lock: the waiting thread may destroy this as soon as it is released.
        std::lock_guard<std::mutex> lock(mutex);
        is_done = true;
        changed.notify_one();
    }

    void wait() {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return is_done; });
    }

private:
    std::mutex mutex;
    std::condition_variable changed;
    bool is_done = false;
};

std::string files;
Pool workers, helpers;
int poller = -1, every_for_driver = 0;
std::atomic<int> answers;
std::mutex accounts_mutex;
// Each account keeps its address.
std::deque<Account> accounts;

Account &new_account() {
    std::lock_guard<std::mutex> lock(accounts_mutex);
    return accounts.emplace_back();
}

std::string file_named(const char *name) { return files + "/" + name; }

void make_file(const char *name, size_t bytes) {
    int fd = open(file_named(name).c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    std::string content(bytes, 'x');
    if (fd == -1 || write(fd, content.data(), bytes) != static_cast<ssize_t>(bytes)) fail(name);
    if (fdatasync(fd) != 0) fail(name);
    close(fd);
}

std::string file_content(const char *name, size_t bytes) {
    std::string content(bytes, 0);
    int fd = open(file_named(name).c_str(), O_RDONLY);
    if (fd == -1 || read(fd, content.data(), bytes) != static_cast<ssize_t>(bytes)) fail(name);
    close(fd);
    return content;
}

std::string from_disk() {
    std::string content(DISK_BYTES, 0);
    int fd = open(file_named("disk").c_str(), O_RDONLY);
    if (fd == -1 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) fail("disk");
    if (read(fd, content.data(), DISK_BYTES) != static_cast<ssize_t>(DISK_BYTES)) fail("disk");
    close(fd);
    return content.substr(0, 100);
}

// Hands a spin of 15 ms to a helper, and works for `meanwhile` itself.
void with_helper(Account &account, double meanwhile) {
    Done done;
    helpers.hand([&account, &done] {
        int64_t begin = used_by_thread();
        spin(15);
        account.helper = own_tid();
        done.say();
        account.helper_ns = used_by_thread() - begin;
    });
    spin(meanwhile);
    done.wait();
}

std::string content_for(Account &account) {
    switch (account.kind) {
    case 'a': spin(30); break;
    case 'b': spin(15); break;
    case 'c': return file_content("small.gif", 12 << 10);
    case 'd': return file_content("tiny.gif", 5 << 10);
    case 'e': with_helper(account, 15); break;
    case 'f':
        spin(7.5);
        with_helper(account, 0);
        spin(7.25);
        break;
    case 'h': return from_disk();
    default: return std::string(100, '?');
    }
    return std::string(100, account.kind);
}

// The "driver" through which responses are sent.
bool driver_delays() {
    if (every_for_driver == 0 || ++answers % every_for_driver != 0) return false;
    // Measured in processor time: a driver in the kernel is not preempted.
    int64_t begin = used_by_thread();
    while (used_by_thread() - begin < 100 * MILLISECOND) {}
    return true;
}

void answer(int fd, Account &account) {
    std::string content = content_for(account);
    char head[128];
    int length = snprintf(head, sizeof head,
                          "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %06zu\r\n\r\n",
                          content.size());
    content.insert(0, head, length);
    account.driver = driver_delays();
    // The client may have closed the connection, which does not matter here.
    (void)!send(fd, content.data(), content.size(), MSG_NOSIGNAL);
    account.worker = own_tid();
    account.end = now();
}

// Reads a request; returns false at the end of the connection.
bool read_request(int fd, Account &account) {
    char text[1024];
    account.read_begin = now();
    ssize_t size = recv(fd, text, sizeof text - 1, 0);
    account.read_end = now();
    if (size <= 0) return false;
    text[size] = 0;
    account.reader = own_tid();
    // The client sends a request in one piece and waits for the response.
    return sscanf(text, "GET /%c/%ld ", &account.kind, &account.number) == 2;
}

void await(int fd, int operation) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.fd = fd;
    if (epoll_ctl(poller, operation, fd, &event) != 0) fail("epoll_ctl");
}

void read_all() {
    epoll_event events[16];
    for (;;) {
        int count = epoll_wait(poller, events, 16, -1);
        int64_t begin = used_by_thread();
        for (int place = 0; place < count; place++) {
            int fd = events[place].data.fd;
            Account read;
            if (!read_request(fd, read)) {
                close(fd);
                continue;
            }
            Account &account = new_account();
            account = read;
            workers.hand([fd, &account] {
                int64_t begin = used_by_thread();
                answer(fd, account);
                await(fd, EPOLL_CTL_MOD);
                account.worker_ns = used_by_thread() - begin;
            });
            account.reader_ns = used_by_thread() - begin;
            begin += account.reader_ns;
        }
    }
}

void serve_one(int fd) {
    for (;;) {
        int64_t begin = used_by_thread();
        Account read;
        if (!read_request(fd, read)) break;
        Account &account = new_account();
        account = read;
        answer(fd, account);
        account.worker_ns = used_by_thread() - begin;
    }
    close(fd);
}

void accept_all(int listener, bool own) {
    for (;;) {
        int fd = accept(listener, nullptr, nullptr), on = 1;
        if (fd == -1) continue;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (own) std::thread(serve_one, fd).detach();
        else await(fd, EPOLL_CTL_ADD);
    }
}

void write_accounts(const char *path, int64_t process_ns) {
    FILE *file = fopen(path, "w");
    if (file == nullptr) fail(path);
    // The first line describes the process from its first request on.
    fprintf(file, "# process %d, processor time %lld ns, realtime minus monotonic %lld ns\n", getpid(),
            static_cast<long long>(process_ns),
            static_cast<long long>(now() - clock_of(CLOCK_MONOTONIC)));
    fprintf(file, "number,kind,reader,worker,helper,read_begin,read_end,end,reader_ns,worker_ns,"
                  "helper_ns,driver\n");
    for (const Account &of : accounts) {
        fprintf(file, "%ld,%c,%d,%d,%d,%lld,%lld,%lld,%lld,%lld,%lld,%d\n", of.number, of.kind, of.reader,
                of.worker, of.helper, static_cast<long long>(of.read_begin),
                static_cast<long long>(of.read_end), static_cast<long long>(of.end),
                static_cast<long long>(of.reader_ns), static_cast<long long>(of.worker_ns),
                static_cast<long long>(of.helper_ns), of.driver);
    }
    if (fclose(file) != 0) fail(path);
}

} // namespace

int main(int count, char **arguments) {
    if (count < 3) {
        fprintf(stderr, "usage: kinds FILES ACCOUNT [--own] [--workers N] [--helpers N] [--driver N]\n");
        return 2;
    }
    int worker_threads = 8, helper_threads = 8;
    bool own = false;
    for (int place = 3; place < count; place++) {
        auto is = [&](const char *name) { return strcmp(arguments[place], name) == 0; };
        auto number = [&] { return place + 1 < count ? atoi(arguments[++place]) : 0; };
        if (is("--own")) own = true;
        else if (is("--workers")) worker_threads = number();
        else if (is("--helpers")) helper_threads = number();
        else if (is("--driver")) every_for_driver = number();
    }
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGTERM);
    sigaddset(&ending, SIGINT);
    pthread_sigmask(SIG_BLOCK, &ending, nullptr);

    files = arguments[1];
    mkdir(files.c_str(), 0755);
    make_file("small.gif", 12 << 10);
    make_file("tiny.gif", 5 << 10);
    make_file("disk", DISK_BYTES);
    calibrate();

    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof name;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    poller = epoll_create1(0);
    if (bind(listener, reinterpret_cast<sockaddr *>(&name), length) != 0) fail("bind");
    if (listen(listener, 128) != 0) fail("listen");
    getsockname(listener, reinterpret_cast<sockaddr *>(&name), &length);
    helpers.start(helper_threads);
    if (!own) {
        workers.start(worker_threads);
        std::thread(read_all).detach();
    }
    int64_t before = used_by_process();
    std::thread(accept_all, listener, own).detach();
    printf("%d\n", ntohs(name.sin_port));
    fflush(stdout);

    int signal_number;
    sigwait(&ending, &signal_number);
    int64_t process_ns = used_by_process() - before;
    std::lock_guard<std::mutex> lock(accounts_mutex);
    write_accounts(arguments[2], process_ns);
    // Threads still run: their objects must not be destroyed.
    quick_exit(0);
}
