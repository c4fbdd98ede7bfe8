/*
 * Clients of a gateway: asks for chat completions on a number of connections, checks every answer, and tells how long
 * they took. One thread. Each prompt is new, made of words drawn by chance, so that no gateway has seen it before; or
 * each connection is a conversation that goes on by a turn with every request.
 *
 *   load -p port -w words [-c connections] [-r rate] [-b bytes] [-h bytes] [-t tokens] [-W seconds] [-s seconds] ...
 *     -p  the gateway's port on 127.0.0.1
 *     -w  a file of words, one a line, as they stand in JSON
 *     -c  connections, each with one request at a time
 *     -r  requests a second, evenly; times count from when a request should have begun. 0: when a connection is free
 *     -b  bytes of a new message's text
 *     -h  bytes of the history that each conversation begins with; 0: every request stands alone
 *     -t  tokens to ask for (max_tokens)
 *     -x  the token's text, by which an answer's tokens are counted; "": pieces of text are counted and not checked
 *     -n  answers come whole, not streamed
 *     -W  seconds before the measurement, in which the connections begin one by one, and -s seconds that it lasts
 *     -m  the model's name, -S seed
 *
 * Prints "begin" and "end" around what is measured, waits for what is under way, then prints one line of JSON.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common.h"
#include "prompts.h"

enum { EVENTS_PER_WAIT = 256, MAX_SAMPLES = 1 << 22 };
static const uint64_t REST_NS = 10000000;      /* after a refusal, before the next try */
static const uint64_t DRAIN_NS = 60 * 1000000000ull;

/* What of an answer comes next. */
enum state { IDLE, HEAD, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILER };

struct client {
    int fd;                     /* -1: not connected */
    char head[256];             /* of the request */
    size_t head_length;
    struct buffer body;
    struct buffer frame, line;  /* of the answer: what is incomplete of its framing, and of its text */
    size_t history;             /* bytes of the body that stay for the conversation's next turn */
    size_t sent;                /* of head and body */
    enum state state;
    int status;
    long left;                  /* bytes of the body or chunk */
    long tokens;                /* of this answer so far */
    bool done;                  /* [DONE] was seen */
    uint64_t begun, last;       /* when it should have begun; its last piece of text */
    uint64_t not_before;        /* it rests until then */
};

struct samples {
    uint32_t *us;
    size_t count;
};

static int port, connections = 1, epoll_fd;
static double rate, warm = 1, seconds = 5;
static long text_bytes = 800, history_bytes, tokens = 16;
static const char *token_text = " the", *model = "mock";
static bool whole;

/* A ring of those that may ask, the one that has waited longest first. */
static struct client **idle;
static long idle_front, idle_count;

static uint64_t measured_from, measured_to;
static long requests, token_sum, body_bytes, errors, refused;
static char first_error[256];
static struct samples first, gaps;

/* ---- requests' bodies ---- */

static void begin_conversation(struct client *c)
{
    c->body.length = 0;
    appendf(&c->body, "{\"model\":\"%s\",\"messages\":[", model);
    while (c->body.length < (size_t) history_bytes) {
        append_message(&c->body, "user", 1000);
        append_text(&c->body, ",");
        append_message(&c->body, "assistant", 1000);
        append_text(&c->body, ",");
    }
    c->history = c->body.length;
}

/* What the model said last, as it said it, and a new question behind it. */
static void write_body(struct client *c)
{
    if (!history_bytes || !c->history)
        begin_conversation(c);
    c->body.length = c->history;
    append_message(&c->body, "user", text_bytes);
    c->history = history_bytes ? c->body.length : 0;
    appendf(&c->body, "],\"stream\":%s,\"max_tokens\":%ld,\"temperature\":0}", whole ? "false" : "true", tokens);
}

static void keep_turn(struct client *c)
{
    if (!history_bytes)
        return;
    const char *said = *token_text ? token_text : " the";
    c->body.length = c->history;
    append_text(&c->body, ",{\"role\":\"assistant\",\"content\":\"");
    for (long i = 0; i < tokens; i++)
        append_text(&c->body, said);
    append_text(&c->body, "\"},");
    c->history = c->body.length;
}

/* ---- what is counted ---- */

static bool measuring(uint64_t at)
{
    return at >= measured_from && at < measured_to;
}

static void sample(struct samples *s, uint64_t ns)
{
    if (s->count < MAX_SAMPLES)
        s->us[s->count++] = (uint32_t) (ns / 1000);
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;
    return (x > y) - (x < y);
}

static double ms(const struct samples *s, double quantile)
{
    return s->count ? s->us[(size_t) (quantile * (double) (s->count - 1))] / 1e3 : 0;
}

/* ---- the end of an answer ---- */

static void rest(struct client *c, uint64_t not_before)
{
    c->state = IDLE;
    c->not_before = not_before;
    idle[(idle_front + idle_count++) % connections] = c;
}

/* Counts whenever it happens, also before and after the measurement: "none lost" is about the whole run. */
static void end_badly(struct client *c, const char *why)
{
    if (!errors && !refused) {
        append(&c->line, "", 1);                               /* what a refusal says, or a line that is incomplete */
        snprintf(first_error, sizeof first_error, "%s; status %d, %ld tokens; %s", why, c->status, c->tokens,
                 c->line.data);
        for (char *at = first_error; (at = strpbrk(at, "\"\\\n\r\t")); )
            *at = ' ';                                         /* it is printed as a JSON string */
    }
    *(c->status == 503 ? &refused : &errors) += 1;
    close(c->fd);
    c->fd = -1;
    c->history = 0;
    rest(c, now() + REST_NS);
}

static void end_well(struct client *c, uint64_t at)
{
    if (c->status != 200 || (!whole && !c->done) || (*token_text ? c->tokens != tokens : c->tokens == 0)) {
        end_badly(c, c->status != 200 ? "refused" : c->done || whole ? "wrong number of tokens" : "no [DONE]");
        return;
    }
    if (measuring(at)) {
        requests++;
        body_bytes += (long) c->body.length;
    }
    keep_turn(c);
    rest(c, at);
}

/* ---- requests ---- */

/* On loopback a connection is there at once, or refused. */
static void connect_to_gateway(struct client *c)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct epoll_event e = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    int one = 1;
    c->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (c->fd < 0)
        die("socket");
    connect(c->fd, (struct sockaddr *) &a, sizeof a);          /* a refusal is seen by the first write */
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(c->fd, F_SETFL, O_NONBLOCK);
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, c->fd, &e);
}

static void send_rest(struct client *c)
{
    size_t all = c->head_length + c->body.length;
    while (c->sent < all) {
        size_t of_head = c->sent < c->head_length ? c->sent : c->head_length, of_body = c->sent - of_head;
        struct iovec parts[2] = {{c->head + of_head, c->head_length - of_head},
                                 {c->body.data + of_body, c->body.length - of_body}};
        ssize_t n = sendmsg(c->fd, &(struct msghdr) {.msg_iov = parts, .msg_iovlen = 2}, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0) {
            end_badly(c, strerror(errno));
            return;
        }
        c->sent += (size_t) n;
    }
}

static void ask(struct client *c, uint64_t due)
{
    write_body(c);
    c->head_length = (size_t) snprintf(c->head, sizeof c->head, "POST /v1/chat/completions HTTP/1.1\r\n"
            "host: 127.0.0.1:%d\r\ncontent-type: application/json\r\ncontent-length: %zu\r\n\r\n",
            port, c->body.length);
    c->state = HEAD;
    c->status = 0;
    c->tokens = 0;
    c->done = false;
    c->frame.length = 0;
    c->line.length = 0;
    c->begun = due;
    c->last = 0;
    c->sent = 0;
    if (c->fd < 0)
        connect_to_gateway(c);
    send_rest(c);
}

/* ---- answers ---- */

static long count_text(const char *at, const char *end)
{
    long count = 0;
    if (!*token_text) {
        const char *content = memmem(at, (size_t) (end - at), "\"content\":\"", 11);
        return content && content + 11 < end && content[11] != '"';
    }
    size_t length = strlen(token_text);
    while ((at = memmem(at, (size_t) (end - at), token_text, length))) {
        count++;
        at += length;
    }
    return count;
}

/* One line of the stream, or the whole body of an answer that is not streamed. */
static void read_line(struct client *c, uint64_t at)
{
    static const char last[] = "data: [DONE]";
    if (c->line.length >= sizeof last - 1 && !memcmp(c->line.data, last, sizeof last - 1)) {
        c->done = true;
    } else {
        long count = count_text(c->line.data, c->line.data + c->line.length);
        if (count) {
            if (measuring(at)) {
                token_sum += count;
                sample(c->last ? &gaps : &first, at - (c->last ? c->last : c->begun));
            }
            c->tokens += count;
            c->last = at;
        }
    }
    c->line.length = 0;
}

static void read_text(struct client *c, const char *data, size_t length, uint64_t at)
{
    while (length) {
        const char *end = memchr(data, '\n', length);
        size_t n = end ? (size_t) (end - data) : length;
        append(&c->line, data, n);
        if (end && c->line.length && c->status == 200)
            read_line(c, at);
        n += end != NULL;
        data += n;
        length -= n;
    }
}

/* Collects the framing's next piece, up to its end mark, as a string. False: it is not complete. */
static bool take_frame(struct client *c, const char **data, const char *end, const char *mark)
{
    size_t length = strlen(mark);
    while (*data < end) {
        append(&c->frame, (*data)++, 1);
        if (c->frame.length >= length && !memcmp(c->frame.data + c->frame.length - length, mark, length)) {
            append(&c->frame, "", 1);
            c->frame.length = 0;
            return true;
        }
    }
    return false;
}

static void read_head(struct client *c)
{
    const char *length = strcasestr(c->frame.data, "\r\ncontent-length:");
    c->status = atoi(c->frame.data + strcspn(c->frame.data, " "));
    c->left = length ? atol(length + 17) : 0;
    c->state = strcasestr(c->frame.data, "\r\ntransfer-encoding:") ? CHUNK_SIZE : BODY;
}

/* Takes what came of an answer. False: it came unasked, or the answer was bad; the connection is closed. */
static bool read_answer(struct client *c, const char *data, const char *end, uint64_t at)
{
    while (data < end || (c->state == BODY && !c->left)) {
        long here = end - data < c->left ? end - data : c->left;
        switch (c->state) {
        case IDLE:
            return false;
        case HEAD:
            if (take_frame(c, &data, end, "\r\n\r\n"))
                read_head(c);
            break;
        case CHUNK_SIZE:
            if (take_frame(c, &data, end, "\r\n")) {
                c->left = strtol(c->frame.data, NULL, 16);
                c->state = c->left ? CHUNK : TRAILER;
            }
            break;
        case CHUNK:
        case BODY:
            read_text(c, data, (size_t) here, at);
            data += here;
            c->left -= here;
            if (!c->left && c->state == CHUNK) {
                c->state = CHUNK_END;
            } else if (!c->left) {
                if (c->status == 200)
                    read_line(c, at);
                end_well(c, at);
            }
            break;
        case CHUNK_END:
            if (take_frame(c, &data, end, "\r\n"))
                c->state = CHUNK_SIZE;
            break;
        case TRAILER:
            if (take_frame(c, &data, end, "\r\n"))
                end_well(c, at);
            break;
        }
    }
    return c->fd >= 0;
}

static void receive(struct client *c)
{
    char data[65536];
    while (c->fd >= 0) {
        ssize_t n = recv(c->fd, data, sizeof data, 0);
        if (n < 0 && errno == EAGAIN)
            return;
        if (n > 0 && read_answer(c, data, data + n, now()))
            continue;
        if (c->fd >= 0 && c->state == IDLE) {                  /* closed between two requests */
            close(c->fd);
            c->fd = -1;
        } else if (c->fd >= 0) {
            end_badly(c, n ? strerror(errno) : "connection closed");
        }
    }
}

/* ---- the loop ---- */

/* Begins what is due. @return when the next request will be, if a connection is free by then */
static uint64_t ask_all_due(uint64_t start, uint64_t at)
{
    static uint64_t asked;
    while (idle_count) {
        struct client *c = idle[idle_front];
        uint64_t arrival = rate > 0 ? start + (uint64_t) ((double) asked / rate * 1e9) : at;
        uint64_t due = c->not_before > arrival ? c->not_before : arrival;
        if (due > at)
            return due;
        idle_front = (idle_front + 1) % connections;
        idle_count--;
        asked++;
        ask(c, arrival);
    }
    return UINT64_MAX;
}

static void run(void)
{
    struct epoll_event events[EVENTS_PER_WAIT];
    uint64_t start = now(), at = start;
    measured_from = start + (uint64_t) (warm * 1e9);
    measured_to = measured_from + (uint64_t) (seconds * 1e9);
    uint64_t edge = measured_from;
    while (edge < UINT64_MAX || (idle_count < connections && at < measured_to + DRAIN_NS)) {
        uint64_t wake = at < measured_to ? ask_all_due(start, at) : at + SECOND;
        wake = wake < edge ? wake : edge;
        at = now();
        struct timespec timeout = timespec_of(wake > at ? (wake - at < SECOND ? wake - at : SECOND) : 0);
        int n = epoll_pwait2(epoll_fd, events, EVENTS_PER_WAIT, &timeout, NULL);
        for (int i = 0; i < n; i++) {
            struct client *c = events[i].data.ptr;
            if (c->fd >= 0 && c->state != IDLE && events[i].events & EPOLLOUT)
                send_rest(c);
            receive(c);
        }
        at = now();
        if (at >= edge) {
            puts(edge == measured_from ? "begin" : "end");
            fflush(stdout);
            edge = edge == measured_from ? measured_to : UINT64_MAX;
        }
    }
    if (idle_count < connections && !(errors += connections - idle_count, *first_error))
        strcpy(first_error, "an answer did not end");
}

static void report(void)
{
    qsort(first.us, first.count, sizeof *first.us, by_size);
    qsort(gaps.us, gaps.count, sizeof *gaps.us, by_size);
    printf("{\"requests\":%ld,\"seconds\":%.3f,\"tokens\":%ld,\"bodyBytes\":%ld,\"errors\":%ld,\"refused\":%ld,"
           "\"firstP50Ms\":%.3f,\"firstP99Ms\":%.3f,\"gapP50Ms\":%.3f,\"gapP99Ms\":%.3f,\"gapMaxMs\":%.3f,"
           "\"firstError\":\"%s\"}\n", requests, seconds, token_sum, requests ? body_bytes / requests : 0, errors,
           refused, ms(&first, 0.5), ms(&first, 0.99), ms(&gaps, 0.5), ms(&gaps, 0.99), ms(&gaps, 1), first_error);
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "p:w:c:r:b:h:t:x:nW:s:m:S:")) != -1; )
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'w': read_words(optarg); break;
        case 'c': connections = atoi(optarg); break;
        case 'r': rate = atof(optarg); break;
        case 'b': text_bytes = atol(optarg); break;
        case 'h': history_bytes = atol(optarg); break;
        case 't': tokens = atol(optarg); break;
        case 'x': token_text = optarg; break;
        case 'n': whole = true; break;
        case 'W': warm = atof(optarg); break;
        case 's': seconds = atof(optarg); break;
        case 'm': model = optarg; break;
        case 'S': seed = strtoull(optarg, NULL, 10) * 0x9e3779b97f4a7c15 | 1; break;
        default: return 2;
        }
    if (!word_count || connections < 1) {
        fputs("load -p port -w words ...; see load.c\n", stderr);
        return 2;
    }
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    epoll_fd = epoll_create1(0);
    first.us = malloc(MAX_SAMPLES * sizeof *first.us);
    gaps.us = malloc(MAX_SAMPLES * sizeof *gaps.us);
    idle = calloc((size_t) connections, sizeof *idle);
    struct client *clients = calloc((size_t) connections, sizeof *clients);
    uint64_t start = now();
    for (int i = 0; i < connections; i++) {
        clients[i].fd = -1;                                    /* one by one, or answers would march in step */
        rest(&clients[i], start + (uint64_t) (warm * 0.5e9 * i / connections));
    }
    run();
    report();
}
