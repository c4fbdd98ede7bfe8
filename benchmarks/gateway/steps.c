/*
 * What it would save a router to get the tokens of all its streams at a worker over one connection, a frame for each
 * step, instead of one connection for each stream. Three processes over TCP: a worker that gives every stream a token
 * each step, a relay that does nothing but read tokens and write events, and the streams' readers. Printed is the
 * relay's processor time for a token: what the kernel takes, and so the most that frames can save of a token's way.
 *
 *   cc -O2 -o steps benchmarks/gateway/steps.c && ./steps [-i step_us] [-s seconds]        10,000 and 3
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

/* Bytes of a token: as a chunk with a line of JSON, as a part of a frame, and as a chunk with an event. */
enum { LINE = 46, PART = 12, EVENT = 261, MAX_STREAMS = 256, READ = 16384 };

/* A pair of connected sockets that do not wait to fill a segment. */
static void connect_pair(int ends[2])
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    if (listener < 0 || bind(listener, (struct sockaddr *) &address, length) || listen(listener, 1)
            || getsockname(listener, (struct sockaddr *) &address, &length))
        die("listen");
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(ends[0], (struct sockaddr *) &address, length) || (ends[1] = accept(listener, NULL, NULL)) < 0)
        die("connect");
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(listener);
}

static void send_all(int fd, const char *bytes, size_t length)
{
    if (send(fd, bytes, length, MSG_NOSIGNAL) != (ssize_t) length)
        die("send");
}

static void worker(const int *fds, int streams, bool framed, long steps, long step_us)
{
    static char bytes[MAX_STREAMS * PART + LINE];
    uint64_t due = now();
    for (long step = 0; step < steps; step++) {
        due += (uint64_t) step_us * 1000;
        struct timespec until = timespec_of(due);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        if (framed)
            send_all(fds[0], bytes, (size_t) streams * PART);
        for (int i = 0; !framed && i < streams; i++)
            send_all(fds[i], bytes, LINE);
    }
}

/* Until it has passed all tokens on. */
static void relay(const int *from, const int *to, int streams, bool framed, long steps)
{
    static char bytes[READ], event[EVENT];
    struct epoll_event events[MAX_STREAMS];
    ssize_t begun[MAX_STREAMS] = {0};
    long left = steps * streams, got = 0;
    int epoll = epoll_create1(0);
    for (int i = 0; i < (framed ? 1 : streams); i++) {
        struct epoll_event in = {.events = EPOLLIN, .data.u32 = (uint32_t) i};
        epoll_ctl(epoll, EPOLL_CTL_ADD, from[i], &in);
    }
    while (left > 0) {
        int ready = epoll_wait(epoll, events, MAX_STREAMS, -1);
        for (int i = 0; i < ready; i++) {
            uint32_t source = events[i].data.u32;
            begun[source] += recv(from[source], bytes, sizeof bytes, 0);
            for (; begun[source] >= (framed ? PART : LINE); begun[source] -= framed ? PART : LINE, left--)
                send_all(to[framed ? got++ % streams : source], event, EVENT);
        }
    }
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    double us = 1e6 * (double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec)
            + (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
    printf("%.1f", us / (double) (steps * streams));
    fflush(stdout);
}

static void readers(const int *fds, int streams, long steps)
{
    static char bytes[READ];
    struct epoll_event events[MAX_STREAMS];
    int epoll = epoll_create1(0);
    for (int i = 0; i < streams; i++) {
        struct epoll_event in = {.events = EPOLLIN, .data.fd = fds[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &in);
    }
    for (long left = steps * streams * EVENT; left > 0;) {
        int ready = epoll_wait(epoll, events, MAX_STREAMS, -1);
        for (int i = 0; i < ready; i++)
            left -= recv(events[i].data.fd, bytes, sizeof bytes, 0);
    }
}

static void measure(int streams, bool framed, long steps, long step_us)
{
    int pair[2], worker_fds[MAX_STREAMS], from[MAX_STREAMS], to[MAX_STREAMS], reader_fds[MAX_STREAMS];
    for (int i = 0; i < streams; i++) {
        connect_pair(pair);
        worker_fds[i] = pair[0];
        from[i] = pair[1];
        connect_pair(pair);
        to[i] = pair[0];
        reader_fds[i] = pair[1];
    }
    for (int role = 0; role < 3; role++) {
        if (fork() == 0) {
            if (role == 0)
                readers(reader_fds, streams, steps);
            else if (role == 1)
                relay(from, to, streams, framed, steps);
            else
                worker(worker_fds, streams, framed, steps, step_us);
            exit(0);
        }
    }
    for (int role = 0, status; role < 3; role++)
        if (wait(&status) < 0 || status != 0)
            exit(1);
    for (int i = 0; i < streams; i++) {
        close(worker_fds[i]);
        close(from[i]);
        close(to[i]);
        close(reader_fds[i]);
    }
}

int main(int argc, char **argv)
{
    long step_us = 10000, seconds = 3;
    for (int option; (option = getopt(argc, argv, "i:s:")) != -1;) {
        if (option == 'i')
            step_us = atol(optarg);
        else if (option == 's')
            seconds = atol(optarg);
        else
            return 2;
    }
    if (step_us < 1000 || step_us > 1000000 || seconds < 1 || seconds > 60)
        return 2;
    struct rlimit files = {4096, 4096};
    if (setrlimit(RLIMIT_NOFILE, &files))
        die("open files");
    printf("| streams | a connection each, us a token | frames, us a token |\n|---|---:|---:|\n");
    for (int streams = 1; streams <= MAX_STREAMS; streams *= 4) {
        printf("| %d | ", streams);
        fflush(stdout);
        measure(streams, false, seconds * 1000000 / step_us, step_us);
        printf(" | ");
        fflush(stdout);
        measure(streams, true, seconds * 1000000 / step_us, step_us);
        printf(" |\n");
    }
    return 0;
}
