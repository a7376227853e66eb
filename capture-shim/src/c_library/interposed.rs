//! List of all interposed functions. The exports, the addresses of libc's own functions and the
//! types of both are generated from it.
//!
//! Each line is `name | its other names: (arguments) -> result => handler`. A handler in the first
//! part receives libc's own function of the called name, then the program's arguments. A handler in
//! the second part receives the program's call as a closure, since it does not depend on the
//! arguments. Handlers are only words here: `exports` gives them their meaning.

/// Passes the whole list of interposed functions to the macro `$then`.
macro_rules! interposed {
    ($then:ident) => {
        $then! {
            handled {
                // Receiving.
                read | __read: (fd: c_int, buffer: *mut c_void, size: size_t) -> ssize_t
                    => read_write::read;
                __read_chk: (fd: c_int, buffer: *mut c_void, size: size_t, room: size_t) -> ssize_t
                    => read_write::read_chk;
                pread | pread64 | __pread64:
                    (fd: c_int, buffer: *mut c_void, size: size_t, offset: off_t) -> ssize_t
                    => read_write::pread;
                __pread_chk | __pread64_chk:
                    (fd: c_int, buffer: *mut c_void, size: size_t, offset: off_t,
                     room: size_t) -> ssize_t => read_write::pread_chk;
                readv: (fd: c_int, first: *const iovec, count: c_int) -> ssize_t
                    => read_write::readv;
                preadv | preadv64:
                    (fd: c_int, first: *const iovec, count: c_int, offset: off_t) -> ssize_t
                    => read_write::preadv;
                preadv2 | preadv64v2:
                    (fd: c_int, first: *const iovec, count: c_int, offset: off_t,
                     flags: c_int) -> ssize_t => read_write::preadv2;
                recv: (fd: c_int, buffer: *mut c_void, size: size_t, flags: c_int) -> ssize_t
                    => receive::recv;
                __recv_chk:
                    (fd: c_int, buffer: *mut c_void, size: size_t, room: size_t,
                     flags: c_int) -> ssize_t => receive::recv_chk;
                recvfrom:
                    (fd: c_int, buffer: *mut c_void, size: size_t, flags: c_int,
                     address: *mut sockaddr, length: *mut socklen_t) -> ssize_t
                    => receive::recvfrom;
                __recvfrom_chk:
                    (fd: c_int, buffer: *mut c_void, size: size_t, room: size_t, flags: c_int,
                     address: *mut sockaddr, length: *mut socklen_t) -> ssize_t
                    => receive::recvfrom_chk;
                recvmsg: (fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t
                    => receive_messages::recvmsg;
                recvmmsg:
                    (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int,
                     timeout: *mut timespec) -> c_int => receive_messages::recvmmsg;

                // Sending.
                write | __write: (fd: c_int, buffer: *const c_void, size: size_t) -> ssize_t
                    => read_write::write;
                pwrite | pwrite64 | __pwrite64:
                    (fd: c_int, buffer: *const c_void, size: size_t, offset: off_t) -> ssize_t
                    => read_write::pwrite;
                writev: (fd: c_int, first: *const iovec, count: c_int) -> ssize_t
                    => read_write::writev;
                pwritev | pwritev64:
                    (fd: c_int, first: *const iovec, count: c_int, offset: off_t) -> ssize_t
                    => read_write::pwritev;
                pwritev2 | pwritev64v2:
                    (fd: c_int, first: *const iovec, count: c_int, offset: off_t,
                     flags: c_int) -> ssize_t => read_write::pwritev2;
                send | __send:
                    (fd: c_int, buffer: *const c_void, size: size_t, flags: c_int) -> ssize_t
                    => read_write::send;
                sendto:
                    (fd: c_int, buffer: *const c_void, size: size_t, flags: c_int,
                     address: *const sockaddr, length: socklen_t) -> ssize_t => read_write::sendto;
                sendmsg: (fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t
                    => send::sendmsg;
                sendmmsg | __sendmmsg:
                    (fd: c_int, messages: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int
                    => send::sendmmsg;
                sendfile | sendfile64:
                    (to: c_int, from: c_int, offset: *mut off_t, size: size_t) -> ssize_t
                    => send::sendfile;
                splice | copy_file_range:
                    (from: c_int, from_offset: *mut loff_t, to: c_int, to_offset: *mut loff_t,
                     size: size_t, flags: c_uint) -> ssize_t => send::splice;
                tee: (from: c_int, to: c_int, size: size_t, flags: c_uint) -> ssize_t => send::tee;
                vmsplice: (fd: c_int, first: *const iovec, count: size_t, flags: c_uint) -> ssize_t
                    => send::vmsplice;

                // Lifecycle of a flow.
                socket: (domain: c_int, kind: c_int, protocol: c_int) -> c_int => lifecycle::socket;
                socketpair: (domain: c_int, kind: c_int, protocol: c_int, fds: *mut c_int) -> c_int
                    => lifecycle::socketpair;
                bind: (fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int
                    => lifecycle::bind;
                listen: (fd: c_int, backlog: c_int) -> c_int => lifecycle::listen;
                accept: (fd: c_int, address: *mut sockaddr, length: *mut socklen_t) -> c_int
                    => lifecycle::accept;
                accept4:
                    (fd: c_int, address: *mut sockaddr, length: *mut socklen_t,
                     flags: c_int) -> c_int => lifecycle::accept4;
                connect | __connect:
                    (fd: c_int, address: *const sockaddr, length: socklen_t) -> c_int
                    => lifecycle::connect;
                setsockopt:
                    (fd: c_int, level: c_int, option: c_int, value: *const c_void,
                     length: socklen_t) -> c_int => lifecycle::setsockopt;
                shutdown: (fd: c_int, how: c_int) -> c_int => close::shutdown;
                close | __close: (fd: c_int) -> c_int => close::close;
                close_range: (first: c_uint, last: c_uint, flags: c_int) -> c_int
                    => close::close_range;
                closefrom: (first: c_int) -> () => close::closefrom;

                // Duplicates of a flow's descriptor.
                dup: (fd: c_int) -> c_int => dup::dup;
                dup2 | __dup2: (old: c_int, new: c_int) -> c_int => dup::dup2;
                dup3: (old: c_int, new: c_int, flags: c_int) -> c_int => dup::dup3;
                fcntl | fcntl64 | __fcntl: (fd: c_int, command: c_int, argument: c_long) -> c_int
                    => dup::fcntl;

                // Waiting.
                poll | __poll: (fds: *mut pollfd, count: c_ulong, timeout: c_int) -> c_int
                    => waits::poll;
                __poll_chk:
                    (fds: *mut pollfd, count: c_ulong, timeout: c_int, room: size_t) -> c_int
                    => waits::poll_chk;
                ppoll:
                    (fds: *mut pollfd, count: c_ulong, timeout: *const timespec,
                     mask: *const sigset_t) -> c_int => waits::ppoll;
                __ppoll_chk:
                    (fds: *mut pollfd, count: c_ulong, timeout: *const timespec,
                     mask: *const sigset_t, room: size_t) -> c_int => waits::ppoll_chk;
                select | __select:
                    (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
                     timeout: *mut timeval) -> c_int => waits::select;
                pselect:
                    (count: c_int, read: *mut fd_set, write: *mut fd_set, except: *mut fd_set,
                     timeout: *const timespec, mask: *const sigset_t) -> c_int => waits::pselect;
                epoll_wait:
                    (epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int) -> c_int
                    => waits::epoll_wait;
                epoll_pwait:
                    (epoll: c_int, events: *mut epoll_event, most: c_int, timeout: c_int,
                     mask: *const sigset_t) -> c_int => waits::epoll_pwait;
                epoll_pwait2:
                    (epoll: c_int, events: *mut epoll_event, most: c_int, timeout: *const timespec,
                     mask: *const sigset_t) -> c_int => waits::epoll_pwait2;
                // Descriptors that come in pairs, and libc's `FILE`s over descriptors.
                pipe: (fds: *mut c_int) -> c_int => new_descriptors::pipe;
                pipe2: (fds: *mut c_int, flags: c_int) -> c_int => new_descriptors::pipe2;
                openpty:
                    (main: *mut c_int, other: *mut c_int, name: *mut c_char,
                     terminal: *const termios, size: *const winsize) -> c_int
                    => new_descriptors::openpty;
                fdopen: (fd: c_int, mode: *const c_char) -> *mut FILE => stdio::fdopen;
                fclose: (file: *mut FILE) -> c_int => stdio::fclose;
                freopen | freopen64:
                    (path: *const c_char, mode: *const c_char, file: *mut FILE) -> *mut FILE
                    => stdio::freopen;
                popen: (command: *const c_char, mode: *const c_char) -> *mut FILE => stdio::popen;
                pclose: (file: *mut FILE) -> c_int => stdio::pclose;
                vdprintf: (fd: c_int, format: *const c_char, arguments: VaList) -> c_int
                    => stdio::vdprintf;
                __vdprintf_chk:
                    (fd: c_int, flag: c_int, format: *const c_char, arguments: VaList) -> c_int
                    => stdio::vdprintf_chk;

                // Libc's resolver: its sends and receives never leave libc; its other functions are
                // below.
                getaddrinfo:
                    (host: *const c_char, service: *const c_char, hints: *const c_void,
                     found: *mut *mut c_void) -> c_int => hidden::getaddrinfo;

                // Processes. `vfork`, `execl`, `execlp` and `execle` are written by hand in
                // `exports`.
                fork | __fork | _Fork: () -> pid_t => processes::fork;
                execve:
                    (path: *const c_char, arguments: *const *const c_char,
                     environment: *const *const c_char) -> c_int => programs::execve;
                execv: (path: *const c_char, arguments: *const *const c_char) -> c_int
                    => programs::execv;
                execvp: (file: *const c_char, arguments: *const *const c_char) -> c_int
                    => programs::execvp;
                execvpe:
                    (file: *const c_char, arguments: *const *const c_char,
                     environment: *const *const c_char) -> c_int => programs::execvpe;
                fexecve:
                    (fd: c_int, arguments: *const *const c_char,
                     environment: *const *const c_char) -> c_int => programs::fexecve;
                execveat:
                    (directory: c_int, path: *const c_char, arguments: *const *const c_char,
                     environment: *const *const c_char, flags: c_int) -> c_int
                    => programs::execveat;
                posix_spawn | posix_spawnp:
                    (child: *mut pid_t, path: *const c_char, actions: *const c_void,
                     attributes: *const c_void, arguments: *const *const c_char,
                     environment: *const *const c_char) -> c_int => programs::spawn;
                pidfd_spawn | pidfd_spawnp:
                    (child: *mut c_int, path: *const c_char, actions: *const c_void,
                     attributes: *const c_void, arguments: *const *const c_char,
                     environment: *const *const c_char) -> c_int => programs::pidfd_spawn;
                system: (command: *const c_char) -> c_int => processes::system;
                wordexp: (words: *const c_char, expanded: *mut c_void, flags: c_int) -> c_int
                    => processes::wordexp;
                clone | __clone:
                    (entry: *const c_void, stack: *mut c_void, flags: c_int, argument: *mut c_void,
                     parent: *mut c_void, tls: *mut c_void, child: *mut c_void) -> c_int
                    => processes::clone;
                daemon: (stay: c_int, keep: c_int) -> c_int => processes::daemon;
                forkpty:
                    (main: *mut c_int, name: *mut c_char, terminal: *const termios,
                     size: *const winsize) -> pid_t => processes::forkpty;
                pthread_create:
                    (thread: *mut c_void, attributes: *const c_void, entry: *mut c_void,
                     argument: *mut c_void) -> c_int => threads::pthread_create;
                _exit | _Exit | quick_exit: (status: c_int) -> c_int => processes::exit;

                // Rights that a process drops.
                chroot: (path: *const c_char) -> c_int => rights::chroot;
                pivot_root: (path: *const c_char, old: *const c_char) -> c_int
                    => rights::pivot_root;
                unshare: (flags: c_int) -> c_int => rights::unshare;
                setns: (fd: c_int, kind: c_int) -> c_int => rights::setns;
                setrlimit | setrlimit64: (resource: c_int, limit: *const rlimit) -> c_int
                    => rights::setrlimit;
                prlimit | prlimit64:
                    (process: pid_t, resource: c_int, new: *const rlimit, old: *mut rlimit) -> c_int
                    => rights::prlimit;
                prctl: (option: c_int, a: c_long, b: c_long, c: c_long, d: c_long) -> c_int
                    => rights::prctl;
                setuid | seteuid: (user: uid_t) -> c_int => rights::setuid;
                setreuid: (user: uid_t, effective: uid_t) -> c_int => rights::setreuid;
                setresuid: (user: uid_t, effective: uid_t, saved: uid_t) -> c_int
                    => rights::setresuid;

                // Libraries. `dlopen` is written by hand.
                dlclose: (handle: *mut c_void) -> c_int => tls::dlclose;

                // Any system call, by number.
                syscall:
                    (number: c_long, a: c_long, b: c_long, c: c_long, d: c_long, e: c_long,
                     f: c_long) -> c_long => syscall::syscall;

                // Signal actions and masks: the log's guard keeps the program's settings for
                // SIGBUS.
                sigaction | __sigaction:
                    (signal: c_int, new: *const c_void, old: *mut c_void) -> c_int
                    => signals::sigaction;
                signal | bsd_signal | ssignal | sysv_signal | __sysv_signal | sigset:
                    (signal: c_int, handler: usize) -> usize => signals::signal;
                sigprocmask | pthread_sigmask:
                    (how: c_int, new: *const c_void, old: *mut c_void) -> c_int => signals::mask;
            }

            wrapped {
                // Calls that return a new descriptor: the table may still have the entry of an
                // earlier one with the same number, which was closed unseen.
                open | open64 | __open | __open64:
                    (path: *const c_char, flags: c_int, mode: c_uint) -> c_int
                    => new_descriptors::open();
                openat | openat64:
                    (directory: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int
                    => new_descriptors::open();
                __open_2 | __open64_2: (path: *const c_char, flags: c_int) -> c_int
                    => new_descriptors::open();
                __openat_2 | __openat64_2:
                    (directory: c_int, path: *const c_char, flags: c_int) -> c_int
                    => new_descriptors::open();
                creat | creat64: (path: *const c_char, mode: c_uint) -> c_int
                    => new_descriptors::open();
                mkstemp | mkstemp64: (path: *mut c_char) -> c_int => new_descriptors::open();
                mkostemp | mkostemp64: (path: *mut c_char, flags: c_int) -> c_int
                    => new_descriptors::open();
                memfd_create: (name: *const c_char, flags: c_uint) -> c_int
                    => new_descriptors::open();
                eventfd: (value: c_uint, flags: c_int) -> c_int => new_descriptors::open();
                timerfd_create: (clock: c_int, flags: c_int) -> c_int => new_descriptors::open();
                signalfd: (fd: c_int, signals: *const c_void, flags: c_int) -> c_int
                    => new_descriptors::open();
                epoll_create: (size: c_int) -> c_int => new_descriptors::open();
                epoll_create1: (flags: c_int) -> c_int => new_descriptors::open();
                inotify_init: () -> c_int => new_descriptors::open();
                inotify_init1: (flags: c_int) -> c_int => new_descriptors::open();
                pidfd_open: (process: pid_t, flags: c_uint) -> c_int => new_descriptors::open();
                pidfd_getfd: (process: c_int, fd: c_int, flags: c_uint) -> c_int
                    => new_descriptors::open();
                posix_openpt: (flags: c_int) -> c_int => new_descriptors::open();
                fopen | fopen64: (path: *const c_char, mode: *const c_char) -> *mut FILE
                    => stdio::open();

                // Libc's resolver: its sends and receives never leave libc.
                getnameinfo:
                    (address: *const sockaddr, length: socklen_t, host: *mut c_char,
                     host_size: socklen_t, service: *mut c_char, service_size: socklen_t,
                     flags: c_int) -> c_int => hidden::timed(Api::GetNameInfo);
                gethostbyname: (name: *const c_char) -> *mut c_void
                    => hidden::timed(Api::GetHostByName);
                gethostbyname2: (name: *const c_char, family: c_int) -> *mut c_void
                    => hidden::timed(Api::GetHostByName);
                gethostbyname_r:
                    (name: *const c_char, entry: *mut c_void, buffer: *mut c_char, size: size_t,
                     found: *mut *mut c_void, error: *mut c_int) -> c_int
                    => hidden::timed(Api::GetHostByName);
                gethostbyname2_r:
                    (name: *const c_char, family: c_int, entry: *mut c_void, buffer: *mut c_char,
                     size: size_t, found: *mut *mut c_void, error: *mut c_int) -> c_int
                    => hidden::timed(Api::GetHostByName);
                gethostbyaddr:
                    (address: *const c_void, length: socklen_t, family: c_int) -> *mut c_void
                    => hidden::timed(Api::GetHostByAddr);
                gethostbyaddr_r:
                    (address: *const c_void, length: socklen_t, family: c_int, entry: *mut c_void,
                     buffer: *mut c_char, size: size_t, found: *mut *mut c_void,
                     error: *mut c_int) -> c_int => hidden::timed(Api::GetHostByAddr);
                res_query | __res_query:
                    (name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar,
                     size: c_int) -> c_int => hidden::timed(Api::ResQuery);
                res_nquery | __res_nquery:
                    (state: *mut c_void, name: *const c_char, class: c_int, kind: c_int,
                     answer: *mut c_uchar, size: c_int) -> c_int => hidden::timed(Api::ResQuery);
                res_search | __res_search:
                    (name: *const c_char, class: c_int, kind: c_int, answer: *mut c_uchar,
                     size: c_int) -> c_int => hidden::timed(Api::ResSearch);
                res_nsearch | __res_nsearch:
                    (state: *mut c_void, name: *const c_char, class: c_int, kind: c_int,
                     answer: *mut c_uchar, size: c_int) -> c_int => hidden::timed(Api::ResSearch);
                res_querydomain | __res_querydomain:
                    (name: *const c_char, domain: *const c_char, class: c_int, kind: c_int,
                     answer: *mut c_uchar, size: c_int) -> c_int
                    => hidden::timed(Api::ResQueryDomain);
                res_nquerydomain | __res_nquerydomain:
                    (state: *mut c_void, name: *const c_char, domain: *const c_char, class: c_int,
                     kind: c_int, answer: *mut c_uchar, size: c_int) -> c_int
                    => hidden::timed(Api::ResQueryDomain);
                res_send | __res_send:
                    (query: *const c_uchar, length: c_int, answer: *mut c_uchar,
                     size: c_int) -> c_int => hidden::timed(Api::ResSend);
                res_nsend | __res_nsend:
                    (state: *mut c_void, query: *const c_uchar, length: c_int, answer: *mut c_uchar,
                     size: c_int) -> c_int => hidden::timed(Api::ResSend);

                // The system log, which libc writes to over a socket of its own.
                vsyslog: (priority: c_int, format: *const c_char, arguments: VaList) -> ()
                    => hidden::timed(Api::Syslog);
                __vsyslog_chk:
                    (priority: c_int, flag: c_int, format: *const c_char, arguments: VaList) -> ()
                    => hidden::timed(Api::Syslog);
            }

            // Functions with a hand-written export that ends in a jump to them.
            jumped { vfork dlopen }
        }
    };
}
pub(crate) use interposed;
