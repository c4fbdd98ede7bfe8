/*
 * A worker that computes nothing: it gives each request its tokens at a set pace, each step in a write of its own, as a
 * real engine does. One thread, one port, two faces: our worker's protocol (POST /v1/generate, NDJSON) for our router,
 * OpenAI's (POST /v1/chat/completions and /v1/completions, SSE) for all other gateways.
 *
 *   mock [-p port] [-e file] [-f folder] [-i id] [-t text] [-m model] [-l seconds]
 *     -p  port on 127.0.0.1; 0, the default: a free one. "ready PORT" is printed when it listens
 *     -e  what the event stream begins with: an encoded snapshot
 *     -f  where the model's files lie, by their SHA-256
 *     -i  the token's id, and -t its text as it stands in JSON: every answer is this one token
 *     -m  the model's name
 *     -l  it ends by itself after so many seconds (3600), and when its standard input ends
 *
 * POST /pace?first_us=A&interval_us=B&per_write=C sets the pace of the requests that come from then on: the first token
 * after A, then C tokens each B; B = 0 writes a whole answer at once. GET /stats tells how many answers have ended, how
 * many were cut by their reader, and how many prompt tokens came by our protocol.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common.h"
#include "due.h"

#define PACKED "application/x-warmpath-generate"
/* Of OpenAI's stream: the object's name, the model, what is new, why it ended. */
#define CHUNK_FORMAT "data: {\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"%s\",\"created\":1700000000," \
        "\"model\":\"%s\",\"choices\":[{\"index\":0,%s,\"logprobs\":null,\"finish_reason\":%s}]}\n\n"
#define CHUNKED "transfer-encoding: chunked\r\n\r\n"
enum { MAX_CONNECTIONS = MAX_DUE, MAX_REQUEST_BYTES = 32 << 20, EVENTS_PER_WAIT = 256 };
enum answer { NOTHING, GENERATE, SSE, WHOLE, KV_EVENTS };

struct connection {
    struct due due;             /* its next write */
    int fd;
    struct buffer in, out;
    bool blocked;               /* what is in out waits until the reader takes more */
    size_t head, body;          /* of the request that is arriving; head 0: its headers are not complete */
    enum answer answer;         /* what is being sent */
    bool chat;                  /* else a plain completion */
    long prompt, left, sent;    /* tokens */
    struct pace { uint64_t first, interval; long per_write; } pace;
    char handle[65];
};

static struct pace pace = {0, 10000000, 1};
static struct connection *by_fd[MAX_CONNECTIONS];
static int epoll_fd;
static long ended, cut, prompt_tokens;
static const char *token_id = "70", *token_text = " the", *model = "mock", *files = ".";
static struct buffer snapshot, token_line, role_chunk, chat_chunk, text_chunk;

static void append_chunk(struct buffer *b, const char *data, size_t length)
{
    appendf(b, "%zx\r\n", length);
    append(b, data, length);
    append(b, "\r\n", 2);
}

__attribute__((format(printf, 2, 3))) static void append_chunkf(struct buffer *b, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    append_chunk(b, text, (size_t) n);
}

/* ---- connections ---- */

static void hang_up(struct connection *c)
{
    cut += c->answer != NOTHING && c->answer != KV_EVENTS;
    unschedule(&c->due);
    by_fd[c->fd] = NULL;
    close(c->fd);
    free(c->in.data);
    free(c->out.data);
    free(c);
}

/* What the socket does not take waits for EPOLLOUT. False: the connection is gone. */
static bool flush(struct connection *c)
{
    size_t done = 0;
    while (done < c->out.length) {
        ssize_t n = send(c->fd, c->out.data + done, c->out.length - done, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            hang_up(c);
            return false;
        }
        done += (size_t) n;
    }
    bool waits = done < c->out.length;
    drop_front(&c->out, done);
    if (waits != c->blocked) {
        c->blocked = waits;
        struct epoll_event e = {.events = waits ? EPOLLIN | EPOLLOUT : EPOLLIN, .data.fd = c->fd};
        epoll_ctl(epoll_fd, EPOLL_CTL_MOD, c->fd, &e);
    }
    return true;
}

/* ---- answers ---- */

static void answer_whole(struct connection *c, int status, const char *type, const char *body, size_t length)
{
    appendf(&c->out, "HTTP/1.1 %d %s\r\ncontent-type: %s\r\ncontent-length: %zu\r\n\r\n", status,
            status == 200 ? "OK" : "Other", type, length);
    append(&c->out, body, length);
}

static void end_answer(struct connection *c, const char *reason)
{
    if (c->answer == GENERATE)
        append_chunkf(&c->out, "{\"type\":\"finished\",\"reason\":\"%s\",\"usage\":{\"promptTokens\":%ld,"
                "\"cachedTokens\":0,\"completionTokens\":%ld}}\n", reason, c->prompt, c->sent);
    else
        append_chunkf(&c->out, CHUNK_FORMAT "data: [DONE]\n\n", c->chat ? "chat.completion.chunk" : "text_completion",
                model, c->chat ? "\"delta\":{}" : "\"text\":\"\"", "\"length\"");
    append(&c->out, "0\r\n\r\n", 5);
    c->answer = NOTHING;
    ended++;
}

static void answer_completion(struct connection *c)
{
    struct buffer body = {0};
    appendf(&body, "{\"id\":\"chatcmpl-0123456789abcdef\",\"object\":\"%s\",\"created\":1700000000,\"model\":\"%s\","
            "\"choices\":[{\"index\":0,%s\"", c->chat ? "chat.completion" : "text_completion", model,
            c->chat ? "\"message\":{\"role\":\"assistant\",\"content\":" : "\"text\":");
    for (long i = 0; i < c->left; i++)
        append(&body, token_text, strlen(token_text));
    appendf(&body, "\"%s,\"logprobs\":null,\"finish_reason\":\"length\"}],\"usage\":{\"prompt_tokens\":1,"
            "\"completion_tokens\":%ld,\"total_tokens\":%ld}}", c->chat ? "}" : "", c->left, c->left + 1);
    answer_whole(c, 200, "application/json", body.data, body.length);
    free(body.data);
    c->answer = NOTHING;
    ended++;
}

/* One step of the engine for this connection: its next tokens in one write, and the end with the last ones. */
static void step(struct connection *c)
{
    unschedule(&c->due);
    if (c->answer == KV_EVENTS) {
        append_chunk(&c->out, "\0\0\0\0", 4);                  /* an empty frame: still there */
        schedule(&c->due, c->due.at + SECOND);
    } else if (c->answer == WHOLE) {
        answer_completion(c);
    } else {
        const struct buffer *one = c->answer == GENERATE ? &token_line : c->chat ? &chat_chunk : &text_chunk;
        long count = c->pace.interval && c->pace.per_write < c->left ? c->pace.per_write : c->left;
        for (long i = 0; i < count; i++)
            append(&c->out, one->data, one->length);
        c->sent += count;
        c->left -= count;
        if (c->left)
            schedule(&c->due, c->due.at + c->pace.interval);
        else
            end_answer(c, "length");
    }
    flush(c);
}

static void begin_answer(struct connection *c, enum answer answer, long tokens)
{
    c->answer = answer;
    c->left = tokens;
    c->sent = 0;
    c->pace = pace;
    uint64_t wait = pace.first + (answer == WHOLE ? pace.interval * (uint64_t) ((tokens - 1) / pace.per_write) : 0);
    if (answer != WHOLE)
        appendf(&c->out, "HTTP/1.1 200 OK\r\ncontent-type: %s\r\n" CHUNKED,
                answer == GENERATE ? "application/x-ndjson" : "text/event-stream; charset=utf-8");
    if (answer == SSE && c->chat)
        append(&c->out, role_chunk.data, role_chunk.length);
    c->due.at = now() + wait;
    if (wait)
        schedule(&c->due, c->due.at);                          /* headers go with the first token */
    else
        step(c);
}

/* ---- requests ---- */

/* Where the value of a key begins. Inside a JSON string its quotes would be escaped, so text cannot be taken for it. */
static const char *value_of(const char *json, size_t length, const char *key)
{
    const char *at = memmem(json, length, key, strlen(key)), *end = json + length;
    if (!at)
        return NULL;
    for (at += strlen(key); at < end && (*at == ':' || *at == ' '); at++) {}
    return at < end ? at : NULL;
}

static long number(const char *json, size_t length, const char *key, long absent)
{
    const char *at = value_of(json, length, key);
    return at ? atol(at) : absent;
}

/* The prompt's ids are counted, not read: as text in the JSON, or packed behind its first line. */
static long count_prompt(const char *body, size_t length, bool packed)
{
    if (packed) {
        const char *line = memchr(body, '\n', length);
        return line ? (body + length - line - 1) / 4 : 0;
    }
    const char *at = value_of(body, length, "\"promptTokens\"");
    const char *end = at ? memchr(at, ']', length - (size_t) (at - body)) : NULL;
    long count = end && end > at + 1;
    while (end && (at = memchr(at, ',', (size_t) (end - at)))) {
        count++;
        at++;
    }
    return count;
}

static void generate(struct connection *c, const char *body, size_t length, bool packed)
{
    c->prompt = count_prompt(body, length, packed);
    prompt_tokens += c->prompt;
    const char *handle = value_of(body, length, "\"handle\"");
    c->handle[0] = 0;
    if (handle && *handle == '"')
        sscanf(handle, "\"%64[0-9A-Za-z]", c->handle);
    begin_answer(c, GENERATE, number(body, length, "\"maxTokens\"", 16));
}

static void complete(struct connection *c, const char *body, size_t length, bool chat)
{
    c->chat = chat;
    const char *stream = value_of(body, length, "\"stream\"");
    long tokens = number(body, length, "\"max_tokens\"", number(body, length, "\"max_completion_tokens\"", 16));
    begin_answer(c, stream && *stream == 't' ? SSE : WHOLE, tokens);
}

/* Ends a generation early and well: what it has so far and the usage come on its own connection. */
static void end_early(struct connection *c, const char *handle)
{
    for (int i = 0; i < heap_size; i++) {
        struct connection *other = (struct connection *) heap[i];
        if (other->answer == GENERATE && other->handle[0] && !strcmp(other->handle, handle)) {
            unschedule(&other->due);
            end_answer(other, "stop");
            flush(other);
            append(&c->out, "HTTP/1.1 204 No Content\r\n\r\n", 27);
            return;
        }
    }
    answer_whole(c, 404, "text/plain", "", 0);
}

static void send_file(struct connection *c, const char *name)
{
    char path[4096];
    struct buffer content = {0};
    snprintf(path, sizeof path, "%s/%.64s", files, name);
    if (strspn(name, "0123456789abcdef") == 64 && read_file(&content, path))
        answer_whole(c, 200, "application/octet-stream", content.data, content.length);
    else
        answer_whole(c, 404, "text/plain", "", 0);
    free(content.data);
}

static void send_events(struct connection *c)
{
    appendf(&c->out, "HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\n" CHUNKED);
    append_chunk(&c->out, snapshot.data, snapshot.length);
    c->answer = KV_EVENTS;
    schedule(&c->due, now() + SECOND);
}

static void set_pace(struct connection *c, const char *query)
{
    unsigned long first, interval;
    long per_write;
    bool good = sscanf(query, "first_us=%lu&interval_us=%lu&per_write=%ld", &first, &interval, &per_write) == 3
            && per_write > 0;
    if (good)
        pace = (struct pace) {first * 1000, interval * 1000, per_write};
    answer_whole(c, good ? 200 : 400, "text/plain", "", 0);
}

static void send_json(struct connection *c, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    answer_whole(c, 200, "application/json", text, (size_t) n);
}

/* The request's headers are a string of their own here: the byte behind them is 0. */
static void serve(struct connection *c, char *head, const char *body, size_t length)
{
    char method[8], path[2048];
    if (sscanf(head, "%7s %2047s", method, path) != 2)
        answer_whole(c, 400, "text/plain", "", 0);
    else if (!strcmp(path, "/v1/generate"))
        generate(c, body, length, strcasestr(head, PACKED) != NULL);
    else if (!strcmp(path, "/v1/chat/completions") || !strcmp(path, "/v1/completions"))
        complete(c, body, length, path[4] == 'c' && path[5] == 'h');
    else if (!strcmp(method, "DELETE") && !strncmp(path, "/v1/generate/", 13))
        end_early(c, path + 13);
    else if (!strncmp(path, "/internal/v1/files/", 19))
        send_file(c, path + 19);
    else if (!strncmp(path, "/internal/v1/events", 19))
        send_events(c);
    else if (!strncmp(path, "/pace?", 6))
        set_pace(c, path + 6);
    else if (!strcmp(path, "/stats"))
        send_json(c, "{\"ended\":%ld,\"cut\":%ld,\"promptTokens\":%ld}", ended, cut, prompt_tokens);
    else if (!strcmp(path, "/v1/models"))
        send_json(c, "{\"object\":\"list\",\"data\":[{\"id\":\"%s\",\"object\":\"model\",\"created\":1700000000,"
                "\"owned_by\":\"vllm\",\"root\":\"%s\",\"max_model_len\":131072}]}", model, model);
    else if (!strcmp(path, "/health"))
        answer_whole(c, 200, "text/plain", "", 0);
    else if (!strcmp(path, "/version"))
        send_json(c, "{\"version\":\"0.20.0\"}");
    else
        answer_whole(c, 404, "text/plain", "", 0);
}

/*
 * One request at a time: nobody sends the next one before the answer has ended. False: the connection is gone, or asks
 * for what is not served here.
 */
static bool serve_complete_requests(struct connection *c)
{
    while (c->answer == NOTHING && c->in.length) {
        if (!c->head) {
            char *end = memmem(c->in.data, c->in.length, "\r\n\r\n", 4);
            if (!end)
                return true;
            end[2] = 0;                                        /* headers become a string */
            char *field = strcasestr(c->in.data, "\r\ncontent-length:");
            c->head = (size_t) (end + 4 - c->in.data);
            c->body = field ? strtoul(field + 17, NULL, 10) : 0;
            if (c->body > MAX_REQUEST_BYTES || strcasestr(c->in.data, "\r\ntransfer-encoding:")) {
                answer_whole(c, 411, "text/plain", "", 0);
                if (flush(c))
                    hang_up(c);
                return false;
            }
            if (strcasestr(c->in.data, "\r\nexpect:"))
                append(&c->out, "HTTP/1.1 100 Continue\r\n\r\n", 25);
        }
        if (c->in.length < c->head + c->body) {
            reserve(&c->in, c->head + c->body - c->in.length);
            return true;
        }
        size_t used = c->head + c->body;
        c->head = 0;
        int fd = c->fd;
        serve(c, c->in.data, c->in.data + used - c->body, c->body);
        if (by_fd[fd] != c)
            return false;                                      /* gone while it was answered */
        drop_front(&c->in, used);
        if (!flush(c))
            return false;
    }
    return true;
}

static void receive(struct connection *c)
{
    while (true) {
        reserve(&c->in, 4096);
        size_t room = c->in.capacity - c->in.length;
        ssize_t n = recv(c->fd, c->in.data + c->in.length, room, 0);
        if (n == 0 || (n < 0 && errno != EAGAIN)) {
            hang_up(c);
            return;
        }
        if (n < 0)
            return;
        c->in.length += (size_t) n;
        if (!serve_complete_requests(c) || (size_t) n < room)
            return;
    }
}

static void accept_all(int listener)
{
    int fd, one = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct connection *c = fd < MAX_CONNECTIONS ? calloc(1, sizeof *c) : NULL;
        if (!c) {
            close(fd);
            continue;
        }
        c->fd = fd;
        c->due.place = -1;
        by_fd[fd] = c;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &e);
    }
}

/* ---- the loop ---- */

static void run(int listener)
{
    struct epoll_event events[EVENTS_PER_WAIT];
    while (true) {
        uint64_t at = now();
        uint64_t wait = !heap_size ? SECOND : heap[0]->at > at ? heap[0]->at - at : 0;
        struct timespec timeout = timespec_of(wait);
        int n = epoll_pwait2(epoll_fd, events, EVENTS_PER_WAIT, &timeout, NULL);
        if (n < 0 && errno != EINTR)
            die("epoll_pwait2");
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener)
                accept_all(listener);
            else if (fd == STDIN_FILENO && read(fd, (char[256]) {0}, 256) == 0)
                exit(0);                                       /* whoever started us is gone */
            else if (by_fd[fd] && (!(events[i].events & EPOLLOUT) || flush(by_fd[fd])))
                receive(by_fd[fd]);
        }
        for (at = now(); heap_size && heap[0]->at <= at; )
            step((struct connection *) heap[0]);
    }
}

static void prepare_lines(void)
{
    char content[256];
    append_chunkf(&token_line, "{\"type\":\"tokens\",\"index\":0,\"ids\":[%s]}\n", token_id);
    append_chunkf(&role_chunk, CHUNK_FORMAT, "chat.completion.chunk", model,
            "\"delta\":{\"role\":\"assistant\",\"content\":\"\"}", "null");
    snprintf(content, sizeof content, "\"delta\":{\"content\":\"%s\"}", token_text);
    append_chunkf(&chat_chunk, CHUNK_FORMAT, "chat.completion.chunk", model, content, "null");
    snprintf(content, sizeof content, "\"text\":\"%s\"", token_text);
    append_chunkf(&text_chunk, CHUNK_FORMAT, "text_completion", model, content, "null");
}

static int listen_on(int port)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t) port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof a;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, (struct sockaddr *) &a, sizeof a) || listen(fd, 4096)
            || getsockname(fd, (struct sockaddr *) &a, &length))
        die("listen");
    printf("ready %d\n", ntohs(a.sin_port));
    fflush(stdout);
    return fd;
}

int main(int argc, char **argv)
{
    int port = 0, lifetime = 3600;
    for (int option; (option = getopt(argc, argv, "p:e:f:i:t:m:l:")) != -1; )
        switch (option) {
        case 'p': port = atoi(optarg); break;
        case 'e': if (!read_file(&snapshot, optarg)) die(optarg); break;
        case 'f': files = optarg; break;
        case 'i': token_id = optarg; break;
        case 't': token_text = optarg; break;
        case 'm': model = optarg; break;
        case 'l': lifetime = atoi(optarg); break;
        default: return 2;
        }
    alarm((unsigned) lifetime);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);                      /* else sleeps last up to 50 us longer */
    prepare_lines();
    epoll_fd = epoll_create1(0);
    struct epoll_event in = {.events = EPOLLIN, .data.fd = STDIN_FILENO};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, STDIN_FILENO, &in);     /* /dev/null cannot be watched, and never ends */
    int listener = listen_on(port);
    in.data.fd = listener;
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &in);
    run(listener);
}
