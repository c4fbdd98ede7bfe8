package dev.warmpath.benchmarks.routing;

import dev.warmpath.protocol.block.BlockHashChain;
import dev.warmpath.protocol.block.HashSettings;
import dev.warmpath.protocol.event.BlockChange;
import dev.warmpath.protocol.event.KeySetDigest;
import dev.warmpath.protocol.event.KvEventBatch;
import dev.warmpath.protocol.event.Medium;
import dev.warmpath.protocol.fleet.Heartbeat;
import dev.warmpath.protocol.fleet.ModelDescription;
import dev.warmpath.protocol.fleet.Protocol;
import dev.warmpath.protocol.fleet.Registration;
import dev.warmpath.protocol.fleet.RevisionParts;
import dev.warmpath.protocol.fleet.RouterId;
import dev.warmpath.router.fleet.Fleet;
import dev.warmpath.router.fleet.FleetWorker;
import dev.warmpath.router.fleet.RegistrationCheck;
import dev.warmpath.router.fleet.RegistrationOutcome;
import dev.warmpath.router.models.ServedModel;
import dev.warmpath.router.prefix.PrefixIndex;
import dev.warmpath.router.routing.ExpectedFirstToken;
import dev.warmpath.router.routing.RequestRouter;
import dev.warmpath.router.routing.RouteResult.Placed;
import dev.warmpath.router.routing.TokenizedPrompt;
import dev.warmpath.tokenization.ModelFiles;
import dev.warmpath.tokenization.ModelTokenizer;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.Queue;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/**
 * One request is placed and the oldest one ends: matched, weighed, booked, its first token, its end, with so many
 * requests in flight at each worker all the time. Prompts of so many blocks, 64 different ones, each of which a fifth
 * of the workers hold whole; a worker announces nothing that the index does not know. Each cycle is timed by itself
 * (sample time, some 25 ns of it the clock's); with {@code -t 8} eight threads share the router and the requests in
 * flight, and {@code -bm thrpt} counts what they get done.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.SampleTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(value = 1, jvmArgsAppend = {"-Xms2g", "-Xmx2g"})
public class DecideBenchmark {

    private static final Path MODEL = Path.of("models", "warmpath-tiny");
    private static final String NAME = "warmpath-tiny";
    private static final int BLOCK_SIZE = 16;
    private static final int PROMPTS = 64;
    private static final int MAX_TOKENS = 200_000;

    /** Workers x requests in flight at each x blocks of a prompt. */
    @Param({"16x16x256", "100x16x256", "100x4x6250", "1000x4x256"})
    public String shape = "16x16x256";

    private int promptTokens;
    private final SplittableRandom random = new SplittableRandom(20261123);
    private final PrefixIndex index = new PrefixIndex();
    private final Queue<Placed> inFlight = new ConcurrentLinkedQueue<>();
    private final TokenizedPrompt[] prompts = new TokenizedPrompt[PROMPTS];
    private @Nullable RequestRouter router;
    private final AtomicInteger next = new AtomicInteger();

    @Setup
    public void fill() throws IOException {
        int[] sizes = Arrays.stream(shape.split("x")).mapToInt(Integer::parseInt).toArray();
        int workers = sizes[0];
        promptTokens = sizes[2] * BLOCK_SIZE;
        var check = new RegistrationCheck(/* loopbackOnly */ true, InstantSource.system());
        var fleet = new Fleet(index, check, Duration.ofDays(1), workers, System::nanoTime, _ -> false);
        String zeros = "0".repeat(64);
        var parts = new RevisionParts(zeros, zeros, zeros, zeros, zeros, HashSettings.SHA256_CBOR,
                HashSettings.DEFAULT_SEED, BLOCK_SIZE, MAX_TOKENS);
        var description = new ModelDescription(NAME, parts.revision(), parts, 1_000, MAX_TOKENS);
        List<FleetWorker> members = new ArrayList<>();
        for (int i = 0; i < workers; i++) {
            var registration = new Registration(Protocol.VERSION, "worker-" + i, 1, URI.create("http://127.0.0.1:9"),
                    description, 100_000, 256, true);
            members.add(((RegistrationOutcome.Accepted) fleet.register(registration)).worker());
        }
        ModelTokenizer tokenizer = tokenizer();
        fleet.modelLoaded(description.revision(), tokenizer);
        announce(fleet, members, new ServedModel(description, HashSettings.ofBlockSize(BLOCK_SIZE), tokenizer));
        router = new RequestRouter(fleet, index, new ExpectedFirstToken(), System::nanoTime, new RouterId("r"));
        for (int i = 0; i < sizes[1] * workers; i++) {
            inFlight.add(place());
        }
    }

    private static ModelTokenizer tokenizer() throws IOException {
        return new ModelTokenizer(new ModelFiles(Files.readAllBytes(MODEL.resolve("tokenizer.json")),
                Files.readAllBytes(MODEL.resolve("tokenizer_config.json")), null, null));
    }

    private void announce(Fleet fleet, List<FleetWorker> members, ServedModel model) {
        List<List<Long>> keys = new ArrayList<>();
        members.forEach(_ -> keys.add(new ArrayList<>()));
        for (int i = 0; i < PROMPTS; i++) {
            prompts[i] = TokenizedPrompt.of(model, random.ints(promptTokens, 0, 500).toArray());
            BlockHashChain chain = prompts[i].chain();
            for (int holder = i % 5; holder < members.size(); holder += 5) {
                for (int block = 0; block < chain.blockCount(); block++) {
                    keys.get(holder).add(chain.key(block));
                }
            }
        }
        for (int i = 0; i < members.size(); i++) {
            long[] held = keys.get(i).stream().mapToLong(Long::longValue).toArray();
            var digest = new KeySetDigest();
            Arrays.stream(held).forEach(digest::add);
            FleetWorker member = members.get(i);
            member.events().apply(new KvEventBatch(member.id(), 1, 0, true,
                    List.of(new BlockChange.Stored(Medium.DEVICE, held)), digest.count(), digest.value()));
            fleet.indexed(member);
            fleet.heartbeat(new Heartbeat(member.id(), 1, 0, 0, 100_000, 0, 0, digest.count(), digest.value()));
        }
    }

    private Placed place() {
        int prompt = Math.floorMod(next.incrementAndGet(), PROMPTS);
        return (Placed) Objects.requireNonNull(router).route(prompts[prompt], Set.of());
    }

    @Benchmark
    public Placed decide() {
        Placed placed = place();
        placed.inFlight().firstToken();
        inFlight.add(placed);
        Objects.requireNonNull(inFlight.poll()).inFlight().close();
        return placed;
    }
}
