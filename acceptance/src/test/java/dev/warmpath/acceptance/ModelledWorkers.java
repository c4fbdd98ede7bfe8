package dev.warmpath.acceptance;

import dev.warmpath.protocol.generate.FailureReason;
import dev.warmpath.protocol.generate.FinishReason;
import dev.warmpath.protocol.generate.GenerateEvent;
import dev.warmpath.protocol.generate.GenerateRequest;
import java.net.URI;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.reactivestreams.Publisher;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;
import reactor.netty.http.server.HttpServerResponse;

/**
 * A fleet of workers of a known capacity in a process of its own, which costs next to no processor: prompts are
 * computed one after the other at a given speed, then a token comes each so many milliseconds beside the others. Speaks
 * the real protocol on real ports; its model's text files are those of {@code warmpath-tiny}. Prints a line whenever a
 * router does not know a worker any more.
 *
 * <p>Arguments: the routers' management URLs with commas between them, the first port, number of workers, sequences
 * each, prompt tokens a second, milliseconds a token.
 */
final class ModelledWorkers {

    static final String LEASE_LOST = "lease lost";
    private static final int MAX_WAITING = 512;

    private ModelledWorkers() {}

    public static void main(String[] args) throws Exception {
        StandInWorker.Model model = StandInWorker.Model.shipped();
        List<URI> routers = Stream.of(args[0].split(",")).map(URI::create).toList();
        int sequences = Integer.parseInt(args[3]);
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            var engine = new Engine(sequences, Integer.parseInt(args[4]), Integer.parseInt(args[5]));
            new StandInWorker("modelled-" + i, Integer.parseInt(args[1]) + i, routers, model, sequences, engine,
                    id -> System.out.println(LEASE_LOST + " " + id));
        }
        while (System.in.read() >= 0) {                            // whoever started this holds the other end
            continue;
        }
        System.exit(0);
    }

    /** Its lock guards slots, queue and the time until which prompts are being computed. */
    private static final class Engine implements StandInWorker.Engine {

        private static final ScheduledExecutorService TIMER = Executors.newScheduledThreadPool(1);

        private final int sequences;
        private final int promptTokensPerSecond;
        private final int millisPerToken;
        private final ArrayDeque<Sequence> waiting = new ArrayDeque<>();
        private int running;
        private long prefillEndNanos = System.nanoTime();

        Engine(int sequences, int promptTokensPerSecond, int millisPerToken) {
            this.sequences = sequences;
            this.promptTokensPerSecond = promptTokensPerSecond;
            this.millisPerToken = millisPerToken;
        }

        @Override
        public Publisher<Void> generate(GenerateRequest request, HttpServerResponse response) {
            var sequence = new Sequence(this, request);
            if (!accept(sequence)) {
                return response.status(503).sendString(Mono.just(StandInWorker.JSON.writeValueAsString(Map.of("status",
                        503, "detail", "the queue is full", "reason", FailureReason.QUEUE_FULL))));
            }
            return StandInWorker.answer(response, sequence.events.asFlux().doFinally(_ -> sequence.end()));
        }

        @Override
        public synchronized int running() {
            return running;
        }

        @Override
        public synchronized int waiting() {
            return waiting.size();
        }

        private synchronized boolean accept(Sequence sequence) {
            if (running < sequences) {
                begin(sequence);
            } else if (waiting.size() < MAX_WAITING) {
                waiting.add(sequence);
            } else {
                return false;
            }
            return true;
        }

        private void begin(Sequence sequence) {
            running++;
            sequence.running = true;
            long now = System.nanoTime();
            prefillEndNanos = Math.max(now, prefillEndNanos)
                    + TimeUnit.SECONDS.toNanos(sequence.request.promptTokens().length) / promptTokensPerSecond;
            sequence.draws = TIMER.scheduleAtFixedRate(sequence::draw, prefillEndNanos - now,
                    TimeUnit.MILLISECONDS.toNanos(millisPerToken), TimeUnit.NANOSECONDS);
        }

        private synchronized void ended(Sequence sequence) {
            if (sequence.running) {
                sequence.running = false;
                sequence.draws.cancel(false);
                running--;
                if (!waiting.isEmpty()) {
                    begin(waiting.remove());
                }
            } else {
                waiting.remove(sequence);
            }
        }
    }

    private static final class Sequence {

        private static final int TOKEN = 70;

        private final Engine engine;
        private final GenerateRequest request;
        private final Sinks.Many<GenerateEvent> events = Sinks.many().unicast().onBackpressureBuffer();
        private boolean running;
        private ScheduledFuture<?> draws;
        private int drawn;

        Sequence(Engine engine, GenerateRequest request) {
            this.engine = engine;
            this.request = request;
        }

        void draw() {
            drawn++;
            events.tryEmitNext(new GenerateEvent.Tokens(0, new int[] {TOKEN}, null));
            if (drawn == request.stop().maxTokens()) {
                events.tryEmitNext(new GenerateEvent.Finished(FinishReason.LENGTH,
                        new GenerateEvent.Usage(request.promptTokens().length, 0, drawn)));
                end();
                events.tryEmitComplete();
            }
        }

        void end() {
            engine.ended(this);
        }
    }
}
