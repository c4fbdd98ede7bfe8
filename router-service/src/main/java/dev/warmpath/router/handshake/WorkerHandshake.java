package dev.warmpath.router.handshake;

import dev.warmpath.protocol.fleet.FleetToken;
import dev.warmpath.protocol.fleet.Handshake;
import dev.warmpath.protocol.fleet.Protocol;
import io.netty.channel.Channel;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.handler.codec.http.DefaultFullHttpRequest;
import io.netty.handler.codec.http.HttpContent;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpResponse;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.LastHttpContent;
import io.netty.util.ReferenceCountUtil;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.SocketTimeoutException;
import java.security.SecureRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One connection's {@link Handshake}, the router's side: nobody above this handler learns that the connection is there
 * before the worker has proved itself, so nothing can be sent on it before. The first request then carries the router's
 * own proof. Each request names the worker that it is for, by {@link #nameWorker}; one for another worker or life than
 * the proved one fails, and the connection with it.
 *
 * <p>Runs on the channel's event loop only. What a stranger answers is bounded by the codec's headers and
 * {@link #MAX_ANSWER_BYTES}.
 */
public final class WorkerHandshake extends ChannelDuplexHandler {

    private static final SecureRandom RANDOM = new SecureRandom();
    private static final int TIMEOUT_SECONDS = 5;
    private static final int MAX_ANSWER_BYTES = 4096;

    private final FleetToken token;
    private final String routerNonce = Handshake.newNonce(RANDOM);
    private @Nullable Handshake proved;
    private boolean proofSent;
    private boolean failed;
    private @Nullable HttpResponse answer;
    private int answerBytes;
    private @Nullable Future<?> timeout;

    private WorkerHandshake(FleetToken token) {
        this.token = token;
    }

    /**
     * To be called for every new channel to a worker. A fleet without a token has nothing to prove.
     *
     * @param channel with an HTTP codec
     * @param before  name of the handler that is to see proved connections only
     */
    public static void addTo(Channel channel, String before, FleetToken token) {
        if (!token.isNone()) {
            channel.pipeline().addBefore(before, "warmpath.handshake", new WorkerHandshake(token));
        }
    }

    /** Says in a request which life of which worker it is for. */
    public static void nameWorker(HttpHeaders request, String workerId, long epoch) {
        request.set(Handshake.WORKER_HEADER, workerId).set(Handshake.EPOCH_HEADER, Long.toString(epoch));
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        var question = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, HttpMethod.GET, Protocol.HANDSHAKE_PATH);
        question.headers().set(HttpHeaderNames.HOST, "worker").set(Handshake.NONCE_HEADER, routerNonce);
        timeout = ctx.executor().schedule(() -> fail(ctx, new SocketTimeoutException(
                "no answer to the handshake within " + TIMEOUT_SECONDS + " s")), TIMEOUT_SECONDS, TimeUnit.SECONDS);
        ctx.writeAndFlush(question);
        ctx.read();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) throws Exception {
        if (proved != null) {
            super.channelRead(ctx, message);
            return;
        }
        try {
            if (message instanceof HttpResponse head) {
                answer = head;
            }
            if (message instanceof HttpContent content) {
                answerBytes += content.content().readableBytes();
            }
            if (answer != null && answer.decoderResult().isFailure() || answerBytes > MAX_ANSWER_BYTES) {
                fail(ctx, new StrangerException("what answers there does not speak HTTP, or too much"));
            } else if (message instanceof LastHttpContent && answer != null) {
                check(ctx, answer);
            }
        } finally {
            ReferenceCountUtil.release(message);
        }
    }

    /** The connection reads only when asked to. */
    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) throws Exception {
        if (proved == null) {
            ctx.read();
        } else {
            super.channelReadComplete(ctx);
        }
    }

    private void check(ChannelHandlerContext ctx, HttpResponse response) {
        HttpHeaders said = response.headers();
        String workerNonce = said.get(Handshake.NONCE_HEADER);
        String workerId = said.get(Handshake.WORKER_HEADER);
        Long epoch = epoch(said);
        if (response.status().code() != HttpResponseStatus.NO_CONTENT.code() || workerId == null || epoch == null
                || !Handshake.isNonce(workerNonce)) {
            fail(ctx, new StrangerException("what answers there, with status " + response.status().code()
                    + ", is no worker of protocol version " + Protocol.VERSION));
            return;
        }
        var handshake = new Handshake(routerNonce, String.valueOf(workerNonce), workerId, epoch);
        if (!handshake.isProvedByWorker(token, said.get(Handshake.PROOF_HEADER))) {
            fail(ctx, new StrangerException("what answers there does not prove that it has the fleet's token"));
            return;
        }
        stopWaiting();
        proved = handshake;
        ctx.fireChannelActive();
    }

    private static @Nullable Long epoch(HttpHeaders said) {
        try {
            return Long.valueOf(said.get(Handshake.EPOCH_HEADER, ""));
        } catch (NumberFormatException e) {
            return null;
        }
    }

    private void fail(ChannelHandlerContext ctx, IOException why) {
        if (!failed && ctx.channel().isOpen()) {
            failed = true;
            ctx.fireExceptionCaught(why);
            ctx.close();
        }
    }

    private void stopWaiting() {
        if (timeout != null) {
            timeout.cancel(false);
        }
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) throws Exception {
        stopWaiting();
        if (proved == null && !failed) {
            ctx.fireExceptionCaught(new IOException("the connection was closed during the handshake"));
        }
        super.channelInactive(ctx);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) throws Exception {
        if (message instanceof HttpRequest request) {
            Handshake worker = proved;
            if (worker == null || !isFor(request, worker)) {
                ReferenceCountUtil.release(message);
                var stranger = new StrangerException(worker == null ? "nobody has proved to be a worker yet"
                        : "worker " + worker.workerId() + " of epoch " + worker.epoch() + " answers there");
                promise.setFailure(stranger);
                fail(ctx, stranger);
                return;
            }
            if (!proofSent) {
                proofSent = true;
                request.headers().set(Handshake.PROOF_HEADER, worker.routerProof(token));
            }
        }
        super.write(ctx, message, promise);
    }

    private static boolean isFor(HttpRequest request, Handshake worker) {
        return worker.workerId().equals(request.headers().get(Handshake.WORKER_HEADER))
                && Long.toString(worker.epoch()).equals(request.headers().get(Handshake.EPOCH_HEADER));
    }
}
