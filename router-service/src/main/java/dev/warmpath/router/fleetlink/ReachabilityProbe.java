package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.router.fleet.FleetWorker;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.URI;
import java.net.URL;
import java.time.Duration;
import java.util.function.LongSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Asks one worker, for as long as it is in the fleet, whether it can be asked: heartbeats show the way from the worker
 * to the router, and its event stream no more than that. A request of a few bytes that carries no secret, over a kept
 * connection, one at a time; every answer will do, a refusal too.
 */
final class ReachabilityProbe implements WorkerLinks.Task {

    /** Two in a row, begun a pause after the last answer, fail within the bound. */
    private static final double SHARE_OF_BOUND = 0.3;

    private final FleetWorker worker;
    private final Duration patience;
    private final LongSupplier nanoTime;
    private final RandomGenerator random;

    /**
     * @param bound    a worker that cannot be reached is known as such after that time
     * @param nanoTime a monotonic clock, in step with the bound
     * @param random   staggers the probes of many workers
     */
    ReachabilityProbe(FleetWorker worker, Duration bound, LongSupplier nanoTime, RandomGenerator random) {
        this.worker = worker;
        this.patience = Duration.ofNanos((long) (bound.toNanos() * SHARE_OF_BOUND));
        this.nanoTime = nanoTime;
        this.random = random;
    }

    @Override
    public void run() throws InterruptedException {
        URL url = url(worker.baseUrl());
        Thread.sleep(Duration.ofNanos(random.nextLong(patience.toNanos())));
        while (!worker.isGone()) {
            long start = nanoTime.getAsLong();
            String trouble = ask(url);
            if (Thread.interrupted()) {
                throw new InterruptedException("closed while probing");
            }
            if (trouble == null) {
                worker.health().probeAnswered();
            } else {
                worker.health().probeUnanswered(trouble);
            }
            Thread.sleep(Duration.ofNanos(Math.max(0, patience.toNanos() - (nanoTime.getAsLong() - start))));
        }
    }

    private static URL url(URI baseUrl) {
        try {
            return baseUrl.resolve(Protocol.FILES_PATH).toURL();
        } catch (IOException e) {
            throw new IllegalStateException("a registered address is http or https", e);
        }
    }

    /** @return what is wrong, or null if there was an answer */
    private @Nullable String ask(URL url) {
        try {
            var connection = (HttpURLConnection) url.openConnection(Proxy.NO_PROXY);
            connection.setRequestMethod("HEAD");
            connection.setConnectTimeout((int) patience.toMillis());
            connection.setReadTimeout((int) patience.toMillis());
            connection.setInstanceFollowRedirects(false);
            connection.setUseCaches(false);
            connection.getResponseCode();
            return null;
        } catch (IOException e) {
            return e.toString();
        }
    }
}
