//! List of the functions that are interposed to record resources, in the form of
//! [`mod@super::interposed`]. `libsockcap.so` does not contain them, so that they cost a program
//! nothing there (`docs/decisions/0111`).

/// Passes the whole list of functions interposed for resources to the macro `$then`.
macro_rules! interposed_for_resources {
    ($then:ident) => {
        $then! {
            handled {
                // Files.
                fsync | fdatasync | syncfs: (fd: c_int) -> c_int => files::sync;
                sync_file_range:
                    (fd: c_int, offset: loff_t, length: loff_t, flags: c_uint) -> c_int
                    => files::sync_range;
                msync: (address: *mut c_void, length: size_t, flags: c_int) -> c_int
                    => files::msync;

                // Eventfds, which libc reads and writes internally.
                eventfd_read: (fd: c_int, number: *mut u64) -> c_int => eventfds::read;
                eventfd_write: (fd: c_int, number: u64) -> c_int => eventfds::write;

                epoll_ctl:
                    (epoll: c_int, operation: c_int, fd: c_int, event: *mut epoll_event) -> c_int
                    => epolls::control;

                // Sleeps.
                nanosleep: (time: *const timespec, rest: *mut timespec) -> c_int
                    => sleeps::nanosleep;
                clock_nanosleep:
                    (clock: clockid_t, flags: c_int, time: *const timespec,
                     rest: *mut timespec) -> c_int => sleeps::clock_nanosleep;
                usleep: (time: useconds_t) -> c_int => sleeps::usleep;
                sleep: (time: c_uint) -> c_uint => sleeps::sleep;

                // Condition variables.
                pthread_cond_signal: (condition: *mut c_void) -> c_int => conditions::signal;
                pthread_cond_broadcast: (condition: *mut c_void) -> c_int
                    => conditions::broadcast;
                pthread_cond_wait: (condition: *mut c_void, mutex: *mut c_void) -> c_int
                    => conditions::wait;
                pthread_cond_timedwait:
                    (condition: *mut c_void, mutex: *mut c_void, until: *const timespec) -> c_int
                    => conditions::timedwait;
                pthread_cond_clockwait:
                    (condition: *mut c_void, mutex: *mut c_void, clock: clockid_t,
                     until: *const timespec) -> c_int => conditions::clockwait;

                // Semaphores.
                sem_post: (semaphore: *mut c_void) -> c_int => semaphores::post;
                sem_wait | sem_trywait: (semaphore: *mut c_void) -> c_int => semaphores::wait;
                sem_timedwait: (semaphore: *mut c_void, until: *const timespec) -> c_int
                    => semaphores::timedwait;
                sem_clockwait:
                    (semaphore: *mut c_void, clock: clockid_t, until: *const timespec) -> c_int
                    => semaphores::clockwait;

                // Locks.
                pthread_mutex_lock: (mutex: *mut c_void) -> c_int => locks::mutex;
                pthread_mutex_timedlock: (mutex: *mut c_void, until: *const timespec) -> c_int
                    => locks::mutex_timed;
                pthread_mutex_clocklock:
                    (mutex: *mut c_void, clock: clockid_t, until: *const timespec) -> c_int
                    => locks::mutex_clock;
                pthread_rwlock_rdlock: (lock: *mut c_void) -> c_int => locks::reader;
                pthread_rwlock_timedrdlock: (lock: *mut c_void, until: *const timespec) -> c_int
                    => locks::reader_timed;
                pthread_rwlock_clockrdlock:
                    (lock: *mut c_void, clock: clockid_t, until: *const timespec) -> c_int
                    => locks::reader_clock;
                pthread_rwlock_wrlock: (lock: *mut c_void) -> c_int => locks::writer;
                pthread_rwlock_timedwrlock: (lock: *mut c_void, until: *const timespec) -> c_int
                    => locks::writer_timed;
                pthread_rwlock_clockwrlock:
                    (lock: *mut c_void, clock: clockid_t, until: *const timespec) -> c_int
                    => locks::writer_clock;

                // Threads that wait for others to arrive or to end.
                pthread_barrier_wait: (barrier: *mut c_void) -> c_int => meetings::barrier;
                pthread_join: (thread: c_ulong, value: *mut *mut c_void) -> c_int
                    => meetings::join;
                pthread_timedjoin_np:
                    (thread: c_ulong, value: *mut *mut c_void, until: *const timespec) -> c_int
                    => meetings::join_timed;
                pthread_clockjoin_np:
                    (thread: c_ulong, value: *mut *mut c_void, clock: clockid_t,
                     until: *const timespec) -> c_int => meetings::join_clock;
            }

            wrapped {}

            // Tries that precede waiting for a lock. A program's own try is not hooked.
            jumped { pthread_mutex_trylock pthread_rwlock_tryrdlock pthread_rwlock_trywrlock }
        }
    };
}
pub(crate) use interposed_for_resources;
