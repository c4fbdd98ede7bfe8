package dev.warmpath.router.connections;

import dev.warmpath.router.http.ApiError;
import dev.warmpath.router.http.RequestBodyReader;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelOutboundBuffer;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.ScheduledFuture;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Holds one connection to its deadlines. It stands behind the HTTP codec, which hands it whole headers and pieces of
 * bodies; that bytes came and no headers were complete is told by a read that ends without any message.
 * <pre>
 *   IDLE ──first byte──▶ HEADERS ──headers──▶ BODY ──its end──▶ ANSWER ──its end──▶ IDLE
 *   header deadline on a new connection;      silence, and      silence, and least rate
 *   between requests the server's idle-timeout   least rate        of what waits to be read
 * </pre>
 * A request that was begun and not answered gets a 408; in every other case the connection is closed. Where the server
 * closes behind its answer and the body is still coming, which would reset the connection before most clients have read,
 * the rest is heard out first.
 *
 * <p>While a request waits behind another one of its connection nothing more is read: what the server has not begun to
 * answer lies in the network's buffers, which nobody counts. One buffer, 64 KiB at most, may have come with it. That
 * such a client has left is noticed when something is written to it. One thread: the connection's event loop.
 */
final class ConnectionGuard extends ChannelDuplexHandler {

    private enum Phase { IDLE, HEADERS, BODY, ANSWER, CLOSING }

    private static final int CHECKS_PER_TIMEOUT = 8;

    private final ConnectionProperties limits;
    private final OpenConnections connections;
    private final LongSupplier nanoTime;
    private @Nullable ChannelHandlerContext context;
    private @Nullable ScheduledFuture<?> checks;

    private Phase phase = Phase.IDLE;
    private long phaseNanos;
    private boolean isNew = true;
    private boolean isInactive;
    private boolean readAMessage;
    private boolean nextHasBegun;

    private long bodyNanos;
    private long bodyBytes;

    /** Of the whole connection; a client that does not wait for its answers is ahead of them. */
    private long requests;
    private long answersBegun;
    private long answersEnded;
    /** Taken by the network, to the end. */
    private long answersTaken;
    /** Nothing is read, since a request waits behind another one. */
    private boolean isHeldBack;
    /** Of a close that waits for the rest of a body. */
    private @Nullable ChannelPromise closing;
    private @Nullable Object written;
    private long writtenBytes;
    private long writtenNanos;
    /** Of answers, handed to the network. */
    private long handedOver;
    /** Since when there is always something left to be taken, and what had been taken by then. */
    private long behindNanos;
    private long takenBefore;

    /** @param nanoTime a monotonic clock, in step with the event loop's */
    ConnectionGuard(ConnectionProperties limits, OpenConnections connections, LongSupplier nanoTime) {
        this.limits = limits;
        this.connections = connections;
        this.nanoTime = nanoTime;
        this.phaseNanos = nanoTime.getAsLong();
        this.behindNanos = phaseNanos;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        context = ctx;
        long shortest = Math.min(limits.headerTimeout().toNanos(),
                Math.min(limits.bodyIdleTimeout().toNanos(), limits.writeIdleTimeout().toNanos()));
        long pause = shortest / CHECKS_PER_TIMEOUT;
        checks = ctx.executor().scheduleWithFixedDelay(() -> check(ctx), pause, pause, TimeUnit.NANOSECONDS);
        ConnectionGuard oldest = connections.opened(this);
        if (oldest != null) {
            oldest.makeRoom();
        }
    }

    /** Closes the connection unless a request has come meanwhile that is not answered. From any thread. */
    private void makeRoom() {
        ChannelHandlerContext ctx = context;
        if (ctx != null) {
            ctx.executor().execute(() -> {
                if (answersDue() == 0) {
                    ctx.close();
                }
            });
        }
    }

    /**
     * Closes the connection if it waits for a further request, and none has come. A first one may be on its way. From any
     * thread.
     */
    void endIfUnused() {
        ChannelHandlerContext ctx = context;
        if (ctx != null) {
            OpenConnections.afterReading(ctx.executor(), () -> {
                if (phase == Phase.IDLE && !isNew) {
                    ctx.close();
                }
            });
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (checks != null) {
            checks.cancel(false);
        }
        isInactive = true;
        connections.closed(this);
        if (closing != null) {
            closing.trySuccess();
        }
        ctx.fireChannelInactive();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        readAMessage = true;
        if (message instanceof HttpRequest) {
            connections.busy(this);
            enter(Phase.BODY);
            bodyNanos = phaseNanos;
            bodyBytes = 0;
            isNew = false;
            nextHasBegun = false;
            requests++;
            if (requestWaits()) {
                isHeldBack = true;
                ctx.channel().config().setAutoRead(false);        // else up to 16 buffers are read at a time
            }
        }
        if (message instanceof HttpContent content) {
            bodyNanos = nanoTime.getAsLong();
            bodyBytes += content.content().readableBytes();
            if (answersDue() == 0 && bodyBytes > RequestBodyReader.LONGEST_PASSED_OVER) {
                content.release();
                ctx.close();
                return;
            }
        }
        if (closing != null) {
            ReferenceCountUtil.release(message);
            if (message instanceof LastHttpContent) {
                ctx.close();
            }
            return;
        }
        if (message instanceof LastHttpContent && phase == Phase.BODY) {
            enter(Phase.ANSWER);
            becomeIdleAfterTheLastAnswer();
        }
        ctx.fireChannelRead(message);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        if (!readAMessage) {
            if (phase == Phase.IDLE) {
                Phase headers = Phase.HEADERS;
                if (isNew) {
                    phase = headers;                             // the deadline counts from the connection's begin
                } else {
                    enter(headers);
                }
            } else if (phase == Phase.ANSWER) {
                nextHasBegun = true;
            }
        }
        readAMessage = false;
        ctx.fireChannelReadComplete();
        if (closing != null) {
            ctx.read();
        }
    }

    /** By others than this handler, as everything that comes from the pipeline's end. */
    @Override
    public void read(ChannelHandlerContext ctx) {
        if (!isHeldBack) {
            ctx.read();
        }
    }

    @Override
    public void close(ChannelHandlerContext ctx, ChannelPromise promise) {
        if (closing == null && phase == Phase.BODY && answersEnded == requests && ctx.channel().isActive()) {
            closing = promise;
            ctx.read();
        } else {
            ctx.close(promise);
        }
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof HttpContent content) {
            handedOver += content.content().readableBytes();
        } else if (message instanceof ByteBuf bytes) {
            handedOver += bytes.readableBytes();
        }
        boolean isInterim = message instanceof HttpResponse response && response.status().code() < 200;
        answersBegun += message instanceof HttpResponse && !isInterim ? 1 : 0;
        if (message instanceof LastHttpContent && !isInterim) {
            answersEnded++;
            ctx.write(message, promise.unvoid().addListener(_ -> {
                answersTaken++;
                becomeIdleAfterTheLastAnswer();
                if (isHeldBack && !requestWaits()) {
                    isHeldBack = false;
                    ctx.channel().config().setAutoRead(true);
                    ctx.read();
                }
            }));
        } else {
            ctx.write(message, promise);
        }
    }

    /** Answers that are due or on their way. */
    private long answersDue() {
        return requests - answersTaken;
    }

    /** Whether the headers of a request have come before the one ahead of it was answered. */
    private boolean requestWaits() {
        return answersDue() > 1;
    }

    private void becomeIdleAfterTheLastAnswer() {
        if (answersDue() > 0 || isInactive) {
            return;
        }
        connections.idle(this);                                  // who has its answer may go, whatever it still owes
        if (phase == Phase.ANSWER) {
            enter(nextHasBegun ? Phase.HEADERS : Phase.IDLE);
            nextHasBegun = false;
            if (connections.isEnding()) {
                endIfUnused();
            }
        }
    }

    private void enter(Phase next) {
        phase = next;
        phaseNanos = nanoTime.getAsLong();
    }

    private void check(ChannelHandlerContext ctx) {
        long now = nanoTime.getAsLong();
        if (phase == Phase.CLOSING || standsStill(ctx, now)) {
            ctx.close();
            return;
        }
        switch (phase) {
            case IDLE -> {
                if (isNew && now - phaseNanos > limits.headerTimeout().toNanos()) {
                    ctx.close();
                }
            }
            case HEADERS -> {
                if (now - phaseNanos > limits.headerTimeout().toNanos()) {
                    refuse(ctx, "the headers did not come within " + words(limits.headerTimeout().toMillis()));
                }
            }
            case BODY -> {
                long idleNanos = limits.bodyIdleTimeout().toNanos();
                double dueBytes = (now - phaseNanos - idleNanos) / 1e9 * limits.bodyRate().toBytes();
                if (answersDue() > 1) {                          // the server does not read it before its turn
                    enter(Phase.BODY);
                    bodyNanos = phaseNanos;
                    bodyBytes = 0;
                } else if (now - bodyNanos > idleNanos) {
                    refuse(ctx, "nothing of the body came for " + words(limits.bodyIdleTimeout().toMillis()));
                } else if (bodyBytes < dueBytes) {
                    refuse(ctx, "the body came with less than " + limits.bodyRate().toBytes() + " bytes a second");
                }
            }
            case ANSWER, CLOSING -> { }
        }
    }

    /** Whether there has been something to write for too long, and nothing of it was taken, or too little. */
    private boolean standsStill(ChannelHandlerContext ctx, long now) {
        ChannelOutboundBuffer buffer = ctx.channel().unsafe().outboundBuffer();
        Object first = buffer == null ? null : buffer.current();
        long bytes = first == null ? 0 : buffer.currentProgress();
        if (first == null || first != written || bytes != writtenBytes) {
            written = first;
            writtenBytes = bytes;
            writtenNanos = now;
        }
        long taken = handedOver - (first == null ? 0 : bytesIn(buffer));
        if (first == null) {
            behindNanos = now;
            takenBefore = taken;
        }
        long idleNanos = limits.writeIdleTimeout().toNanos();
        double dueBytes = (now - behindNanos - idleNanos) / 1e9 * limits.writeRate().toBytes();
        return now - writtenNanos > idleNanos || taken - takenBefore < dueBytes;
    }

    /** With the lengths of chunks between them, which is a few in a hundred more than was handed over. */
    private static long bytesIn(ChannelOutboundBuffer buffer) {
        long[] sum = {0};
        try {
            buffer.forEachFlushedMessage(message -> {
                sum[0] += message instanceof ByteBuf bytes ? bytes.readableBytes() : 0;
                return true;
            });
        } catch (Exception e) {
            throw new IllegalStateException("counting cannot fail", e);
        }
        return sum[0];
    }

    private void refuse(ChannelHandlerContext ctx, String message) {
        boolean answerable = phase == Phase.HEADERS || answersDue() == 1 && answersBegun < requests;
        phase = Phase.CLOSING;
        if (!answerable) {
            ctx.close();
            return;
        }
        byte[] body = ApiError.timeout(message).getBytes(StandardCharsets.UTF_8);
        var answer = new DefaultFullHttpResponse(
                HttpVersion.HTTP_1_1, HttpResponseStatus.REQUEST_TIMEOUT, Unpooled.wrappedBuffer(body));
        answer.headers().set(HttpHeaderNames.CONTENT_TYPE, "application/json")
                .set(HttpHeaderNames.CONTENT_LENGTH, body.length)
                .set(HttpHeaderNames.CONNECTION, "close");
        ctx.writeAndFlush(answer).addListener(ChannelFutureListener.CLOSE);
    }

    private static String words(long millis) {
        return millis % 1_000 == 0 ? millis / 1_000 + " s" : millis + " ms";
    }
}
