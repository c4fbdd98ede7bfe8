package dev.warmpath.cli.bench;

import dev.warmpath.cli.fleet.CommandException;
import dev.warmpath.workload.GeneratedLoad;
import dev.warmpath.workload.MooncakeTrace;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.NoSuchElementException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of a run, in order of time, drawn when they are wanted. A part of them is looked at before, of a trace
 * all: by that the load is scaled to a context, and a trace to a rate.
 *
 * @see GeneratedLoad
 */
final class Load {

    static final String USUAL = "chatbot";
    private static final int LOOKED_AT = 256;

    private final String name;
    private final boolean ends;
    private final List<Session> lookedAt;
    private final Deque<Session> next;
    private final Supplier<@Nullable Session> rest;

    private Load(String name, List<Session> lookedAt, boolean ends, Supplier<@Nullable Session> rest) {
        this.name = name;
        this.ends = ends;
        this.lookedAt = lookedAt;
        this.next = new ArrayDeque<>(lookedAt);
        this.rest = rest;
    }

    static Iterable<String> names() {
        return GeneratedLoad.named().keySet();
    }

    /** @return a load without an end; sessions begin one in a second. Null if none is of this name */
    static @Nullable Load drawn(String name, long seed) {
        GeneratedLoad load = GeneratedLoad.named().get(name.toLowerCase(Locale.ROOT));
        if (load == null) {
            return null;
        }
        Supplier<Session> sessions = load.endless(1, seed);
        List<Session> first = new ArrayList<>();
        for (int i = 0; i < LOOKED_AT; i++) {
            first.add(sessions.get());
        }
        return new Load(name, first, /* ends */ false, sessions::get);
    }

    /** @throws CommandException if the file is no trace of Mooncake's */
    static Load traced(Path file) {
        try {
            List<Session> sessions = MooncakeTrace.read(file).overlaid(1);
            return new Load(file.getFileName().toString(), sessions, /* ends */ true, () -> null);
        } catch (FileSystemException e) {
            throw new CommandException("cannot read the trace " + file + ": is it there, and readable?");
        } catch (IOException e) {
            throw new CommandException("the trace " + file + " is none of Mooncake's: " + e.getMessage());
        } catch (NoSuchElementException e) {
            throw new CommandException("the trace " + file + " has no request in it");
        }
    }

    String name() {
        return name;
    }

    /** @return null if it has no end */
    @Nullable Long requests() {
        return ends ? lookedAt.stream().mapToLong(session -> session.turns().size()).sum() : null;
    }

    /** Null when a trace has ended. */
    synchronized @Nullable Session next() {
        return next.isEmpty() ? rest.get() : next.removeFirst();
    }

    /** Sessions in a second, from the first one's begin to the last one's; 1 if there is but one. */
    double sessionsPerSecond() {
        long spanMicros = lookedAt.getLast().startMicros() - lookedAt.getFirst().startMicros();
        return lookedAt.size() < 2 ? 1 : (lookedAt.size() - 1) * 1e6 / Math.max(1, spanMicros);
    }

    /** Of the longest prompt with its answer, among those that were looked at. */
    int longestTokens() {
        return lookedAt.stream().flatMap(session -> session.turns().stream()).mapToInt(Load::tokens).max().orElse(1);
    }

    /** Of the shortest of those with which a session begins, at this scale. */
    int shortestTokens(Scale scale) {
        return lookedAt.stream().map(session -> session.turns().getFirst())
                .mapToInt(turn -> scale.promptTokens(turn.prompt()) + scale.answerTokens(turn)).min().orElse(1);
    }

    private static int tokens(Turn turn) {
        return turn.prompt().length() + turn.answerTokens();
    }

    /** Of a piece, by which a scale is a whole number of tokens. */
    int pieceTokens() {
        return lookedAt.getFirst().turns().getFirst().prompt().pieceTokens();
    }
}
