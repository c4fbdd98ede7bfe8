package dev.warmpath.router.fleetlink.stream;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.reactivestreams.Subscription;
import reactor.core.Exceptions;
import reactor.core.publisher.BaseSubscriber;
import reactor.core.publisher.Flux;

/**
 * An answer's body for straight-line code: each read that has to wait asks the network for one more piece. A stream
 * that falls silent ends by itself. For one thread.
 */
final class BodyStream extends InputStream {

    private sealed interface Signal {
        record Piece(byte[] bytes) implements Signal {}

        record End() implements Signal {}

        record Failed(Throwable why) implements Signal {}
    }

    private final long longestSilenceNanos;
    /** One piece, since one is asked for, and the end behind it. */
    private final BlockingQueue<Signal> signals = new ArrayBlockingQueue<>(2);
    private final Reader reader = new Reader();
    private byte[] piece = new byte[0];
    private int at;
    private boolean ended;

    /** Subscribes. @param longestSilence that a read waits for */
    BodyStream(Flux<byte[]> body, Duration longestSilence) {
        this.longestSilenceNanos = longestSilence.toNanos();
        body.subscribe(reader);
    }

    /** Hands over what has come; on the network's thread. */
    private final class Reader extends BaseSubscriber<byte[]> {
        @Override
        protected void hookOnSubscribe(Subscription subscription) {
            // nothing before somebody reads
        }

        @Override
        protected void hookOnNext(byte[] bytes) {
            signals.add(new Signal.Piece(bytes));
        }

        @Override
        protected void hookOnComplete() {
            signals.add(new Signal.End());
        }

        @Override
        protected void hookOnError(Throwable why) {
            signals.add(new Signal.Failed(Exceptions.unwrap(why)));
        }
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] into, int offset, int length) throws IOException {
        while (at == piece.length) {
            if (length == 0) {
                return 0;
            }
            if (ended || !next()) {
                return -1;
            }
        }
        int count = Math.min(length, piece.length - at);
        System.arraycopy(piece, at, into, offset, count);
        at += count;
        return count;
    }

    private boolean next() throws IOException {
        reader.request(1);
        return switch (await()) {
            case Signal.Piece(byte[] bytes) -> {
                piece = bytes;
                at = 0;
                yield true;
            }
            case Signal.End() -> {
                ended = true;
                yield false;
            }
            case Signal.Failed(Throwable why) -> {
                ended = true;
                throw why instanceof IOException io ? io : new IOException(why.toString(), why);
            }
        };
    }

    private Signal await() throws IOException {
        try {
            Signal signal = signals.poll(longestSilenceNanos, TimeUnit.NANOSECONDS);
            if (signal == null) {
                close();
                throw new SocketTimeoutException(
                        "nothing came for " + TimeUnit.NANOSECONDS.toMillis(longestSilenceNanos) + " ms");
            }
            return signal;
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while reading");
        }
    }

    /** Ends the connection, unless the body has been read to its end. */
    @Override
    public void close() {
        ended = true;
        reader.cancel();
    }
}
