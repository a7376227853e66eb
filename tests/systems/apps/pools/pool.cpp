// A web service with a reader, a pool of workers, and optionally a writer, each a separate thread.
//
// The reader takes requests from all connections and puts them into a queue. A worker calls the
// stock service, for some requests also the price service, and responds, or leaves the response to
// the writer.
//
// usage: pool PORT STOCK PRICE WORKERS worker|writer
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

// A queued item: the connection, and a path or a response.
struct Item {
    int connection;
    std::string text;
};

// A bounded queue: producers wait for room, consumers for an item.
class Queue {
public:
    void put(Item item) {
        std::unique_lock<std::mutex> lock(mutex_);
        room_.wait(lock, [this] { return items_.size() < 1000; });
        items_.push_back(std::move(item));
        lock.unlock();
        filled_.notify_one();
    }

    Item take() {
        std::unique_lock<std::mutex> lock(mutex_);
        filled_.wait(lock, [this] { return !items_.empty(); });
        Item item = std::move(items_.front());
        items_.pop_front();
        lock.unlock();
        room_.notify_one();
        return item;
    }

private:
    std::mutex mutex_;
    std::condition_variable filled_, room_;
    std::deque<Item> items_;
};

sockaddr_in address(int port) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(static_cast<uint16_t>(port));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return at;
}

void check(bool works, const char *what) {
    if (!works) throw std::runtime_error(what);
}

// Sends all of a text.
void say(int connection, const std::string &text) {
    check(send(connection, text.data(), text.size(), MSG_NOSIGNAL) == ssize_t(text.size()), "send");
}

// A connection to a service; each worker has its own.
class Service {
public:
    explicit Service(int port) : connection_(socket(AF_INET, SOCK_STREAM, 0)) {
        sockaddr_in at = address(port);
        check(connect(connection_, reinterpret_cast<sockaddr *>(&at), sizeof at) == 0, "connect");
    }

    std::string ask(const std::string &path) {
        say(connection_, "GET " + path + " HTTP/1.1\r\nHost: service\r\n\r\n");
        char buffer[2000];
        ssize_t size = recv(connection_, buffer, sizeof buffer, 0);
        check(size > 0, "a service gave no answer");
        std::string answer(buffer, size_t(size));
        return answer.substr(answer.find("\r\n\r\n") + 4);
    }

private:
    int connection_;
};

std::string answer_of(const std::string &body) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

// The name in `/order/NAME`, and whether its price is requested.
void work(Queue &requests, Queue *answers, int stock_port, int price_port) {
    Service stock(stock_port), price(price_port);
    for (;;) {
        Item item = requests.take();
        std::string name = item.text.substr(item.text.rfind('/') + 1);
        std::string body = stock.ask("/stock/" + name);
        if (std::atoi(name.c_str() + 4) % 3 != 0) body += price.ask("/price/" + name);
        Item answer{item.connection, answer_of(body)};
        if (answers != nullptr) {
            answers->put(std::move(answer));
        } else {
            say(answer.connection, answer.text);
        }
    }
}

// Reads requests from all connections, forever.
void read_all(int listener, Queue &requests) {
    int poll = epoll_create1(0);
    auto watch = [poll](int descriptor) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.fd = descriptor;
        check(epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event) == 0, "epoll_ctl");
    };
    watch(listener);
    for (;;) {
        epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, -1);
        for (int at = 0; at < ready; at++) {
            int descriptor = events[at].data.fd;
            if (descriptor == listener) {
                int connection = accept(listener, nullptr, nullptr);
                int yes = 1;
                setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
                watch(connection);
                continue;
            }
            char buffer[4000];
            ssize_t size = recv(descriptor, buffer, sizeof buffer, 0);
            if (size <= 0) {
                close(descriptor);
                continue;
            }
            std::string head(buffer, size_t(size));
            size_t from = head.find(' ') + 1;
            requests.put({descriptor, head.substr(from, head.find(' ', from) - from)});
        }
    }
}

}  // namespace

int main(int count, char **words) {
    check(count == 6, "usage: pool PORT STOCK PRICE WORKERS worker|writer");
    int listener = socket(AF_INET, SOCK_STREAM, 0), yes = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in at = address(std::atoi(words[1]));
    check(bind(listener, reinterpret_cast<sockaddr *>(&at), sizeof at) == 0, "bind");
    static Queue requests, answers;
    Queue *written = std::string(words[5]) == "writer" ? &answers : nullptr;
    std::vector<std::thread> threads;
    for (int worker = 0; worker < std::atoi(words[4]); worker++) {
        threads.emplace_back(
            [=] { work(requests, written, std::atoi(words[2]), std::atoi(words[3])); });
    }
    if (written != nullptr) {
        threads.emplace_back([] {
            for (;;) {
                Item answer = answers.take();
                say(answer.connection, answer.text);
            }
        });
    }
    check(listen(listener, 200) == 0, "listen");
    read_all(listener, requests);
}
