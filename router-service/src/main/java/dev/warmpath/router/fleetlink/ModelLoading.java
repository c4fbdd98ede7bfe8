package dev.warmpath.router.fleetlink;

import dev.warmpath.protocol.fleet.Backoff;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.process.ProcessEnd;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleetlink.stream.WorkerHttp;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import dev.warmpath.tokenization.SegmentCache;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Gets a revision's files from one of its workers and has its tokenizer built. A failure of the network is tried again,
 * with the next worker; files that arrived whole and do not make a tokenizer never will.
 *
 * <p>A large vocabulary takes seconds of native code, which holds on to the thread that carries a virtual one, and as
 * many loaders as there are cores would hold up all heartbeats and followers. Hence the builders are others' threads.
 */
final class ModelLoading implements WorkerLinks.Task {

    private static final byte[] EMPTY_JSON = "{}".getBytes(StandardCharsets.UTF_8);

    private final Fleet fleet;
    private final String revision;
    private final WorkerHttp http;
    private final ExecutorService builders;
    private final SegmentCache segments;
    private final Backoff backoff;

    /**
     * @param builders a few platform threads, in which tokenizers are built
     * @param segments what tokenizers remember, all of them together
     */
    ModelLoading(Fleet fleet, String revision, WorkerHttp http, ExecutorService builders, SegmentCache segments,
            RandomGenerator random) {
        this.fleet = fleet;
        this.revision = revision;
        this.http = http;
        this.builders = builders;
        this.segments = segments;
        this.backoff = Backoff.ofLink(random);
    }

    @Override
    public void run() throws InterruptedException {
        boolean ended = false;
        try {
            load();
            ended = true;
        } finally {
            if (!ended) {
                fleet.loadingFailed(revision);                     // an error, or the router closes
            }
        }
    }

    private void load() throws InterruptedException {
        for (int attempt = 0; !fleet.endLoadingIfAbandoned(revision); attempt++) {
            List<FleetWorker> members = fleet.membersOf(revision);
            if (!members.isEmpty() && tryWorker(members.get(attempt % members.size()))) {
                return;
            }
            Thread.sleep(backoff.next());
        }
    }

    /** @return false if another try may help */
    private boolean tryWorker(FleetWorker worker) throws InterruptedException {
        try {
            fleet.modelLoaded(revision, build(files(worker)));
            return true;
        } catch (IOException e) {
            fleet.modelStuck(revision, "its files cannot be had from worker " + worker.id() + ": " + e);
            return false;
        } catch (RuntimeException | Error e) {
            ProcessEnd.rethrowIfFatal(e);
            // whatever the tokenizer finds wrong with the files: fetching them again does not help
            fleet.modelStuck(revision, "its files make no tokenizer: "
                    + (e instanceof Error ? e.toString() : e.getMessage()));
            fleet.loadingFailed(revision);
            return true;
        }
    }

    /** Whoever is interrupted does not wait for it any more; what has begun by then is built for nobody. */
    private ModelTokenizer build(ModelFiles files) throws InterruptedException {
        Future<ModelTokenizer> tokenizer = builders.submit(() -> new ModelTokenizer(files, segments));
        try {
            return tokenizer.get();
        } catch (ExecutionException e) {
            switch (e.getCause()) {
                case Error error -> throw error;
                case RuntimeException exception -> throw exception;
                case null, default -> throw new IllegalStateException(e);
            }
        } finally {
            tokenizer.cancel(/* mayInterruptIfRunning */ false);
        }
    }

    private ModelFiles files(FleetWorker worker) throws IOException {
        RevisionParts parts = worker.model().parts();
        byte[] tokenizer = http.file(worker, parts.tokenizer());
        byte[] tokenizerConfig = file(worker, parts.tokenizerConfig());
        return new ModelFiles(tokenizer, tokenizerConfig == null ? EMPTY_JSON : tokenizerConfig,
                file(worker, parts.chatTemplate()), file(worker, parts.generationConfig()),
                file(worker, parts.config()));
    }

    private byte @Nullable [] file(FleetWorker worker, String sha256) throws IOException {
        return sha256.isEmpty() ? null : http.file(worker, sha256);
    }
}
