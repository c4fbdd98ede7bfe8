package dev.warmpath.worker.poolfeed;

import dev.warmpath.protocol.pool.BlockDetail;
import dev.warmpath.protocol.pool.BlockDetail.Holder;
import dev.warmpath.protocol.pool.BlockState;
import dev.warmpath.protocol.pool.PoolRequest;
import dev.warmpath.protocol.pool.RequestTables;
import dev.warmpath.protocol.pool.RequestTables.Choice;
import dev.warmpath.protocol.pool.RequestTables.Table;
import dev.warmpath.worker.engine.EngineBooks;
import dev.warmpath.worker.kvcache.BlockTable;
import dev.warmpath.worker.kvcache.CacheGroup;
import dev.warmpath.worker.kvcache.CacheGroup.FullAttention;
import dev.warmpath.worker.kvcache.CacheGroup.SlidingWindow;
import dev.warmpath.worker.kvcache.PoolView;
import dev.warmpath.worker.kvcache.TokenSequence;
import dev.warmpath.worker.scheduler.Sequence;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One block, or one request's tables, read from an engine's books on its thread. */
final class PoolDetails {

    private static final int NULL_BLOCK = 0;
    private static final int KEY_DIGITS = 16;

    private PoolDetails() {}

    /** @return null if there is no such block */
    static @Nullable BlockDetail block(EngineBooks books, int block) {
        PoolView pool = books.pool();
        if (block < 0 || block >= pool.settings().blockCount()) {
            return null;
        }
        List<Place> places = block == NULL_BLOCK ? List.of() : places(books, block);
        List<Holder> holders = places.stream().limit(BlockDetail.MAX_HOLDERS).map(Place::holder).toList();
        // whoever shares the first tokens of a block only has computed less of it than who filled it
        Place fullest = places.stream().max(Comparator.comparingInt(Place::tokenCount)).orElse(null);
        int references = pool.references(block);
        Long idle = idleMillis(books, block);
        if (pool.isKeyed(block)) {
            int group = pool.group(block);
            int size = pool.settings().blockSize(group);
            String hash = HexFormat.of().formatHex(pool.hash(block));
            int[] kept = pool.tokens(block);
            return new BlockDetail(block, BlockState.of(block, references, true), references,
                    hash.substring(hash.length() - KEY_DIGITS), hash, group, size,
                    kept == null && fullest != null ? fullest.tokens(size) : kept, idle, holders);
        }
        BlockState state = BlockState.of(block, references, false);
        return fullest == null
                ? new BlockDetail(block, state, references, null, null, null, 0, null, idle, holders)
                : new BlockDetail(block, state, references, null, null, fullest.group, fullest.tokenCount(),
                        fullest.tokens(fullest.tokenCount()), idle, holders);
    }

    private static @Nullable Long idleMillis(EngineBooks books, int block) {
        long lastUse = books.pool().lastUseMillis(block);
        return lastUse == 0 ? null : Math.max(0, books.pool().atMillis(books.nowNanos()) - lastUse);
    }

    private static List<Place> places(EngineBooks books, int block) {
        List<Place> places = new ArrayList<>();
        int groups = books.pool().settings().groups().size();
        books.forEachAlive(sequence -> {
            for (int group = 0; group < groups && holdsBlocks(sequence); group++) {
                BlockTable table = sequence.tokens().table(group);
                for (int index = 0; index < table.blockCount(); index++) {
                    if (table.block(index) == block) {
                        places.add(new Place(sequence, group, index, books.pool().settings().blockSize(group)));
                    }
                }
            }
        });
        return places;
    }

    private static boolean holdsBlocks(Sequence sequence) {
        return sequence.tokens().table().blockCount() > 0;
    }

    /** Where a block stands in a sequence's tables. */
    private record Place(Sequence sequence, int group, int index, int blockSize) {

        /** Of its tokens, those that the sequence has computed, or found. */
        int tokenCount() {
            return Math.clamp(sequence.tokens().computedTokens() - (long) index * blockSize, 0, blockSize);
        }

        /** The first of them, or null if some are not known yet. */
        int @Nullable [] tokens(int count) {
            TokenSequence tokens = sequence.tokens();
            int from = index * blockSize;
            return from + count <= tokens.tokenCount() ? Arrays.copyOfRange(tokens.tokens(), from, from + count) : null;
        }

        Holder holder() {
            return new Holder(sequence.requestId(), sequence.choice(), index);
        }
    }

    /** @return null if no request of that id runs or waits */
    static @Nullable RequestTables request(EngineBooks books, String id) {
        var parts = new LatestParts(books);
        List<Choice> choices = new ArrayList<>();
        books.forEachAlive(sequence -> {
            if (sequence.requestId().equals(id) && choices.size() < RequestTables.MAX_CHOICES) {
                choices.add(choice(books.pool(), sequence, parts.describe(sequence)));
            }
        });
        return choices.isEmpty() ? null : new RequestTables(id, choices);
    }

    private static Choice choice(PoolView pool, Sequence sequence, PoolRequest counts) {
        List<Table> tables = new ArrayList<>();
        List<CacheGroup> groups = pool.settings().groups();
        for (int group = 0; group < groups.size(); group++) {
            Integer window = switch (groups.get(group)) {
                case FullAttention() -> null;
                case SlidingWindow(int positions, _) -> positions;
            };
            tables.add(table(pool, pool.settings().blockSize(group), window,
                    holdsBlocks(sequence) ? sequence.tokens().table(group).toArray() : new int[0]));
        }
        return new Choice(counts.choice(), counts.state(), counts.promptTokens(), counts.cachedTokens(),
                counts.computedTokens(), counts.scheduledTokens(), counts.drawnTokens(), tables,
                pool.hostBlocks(sequence.tokens()));
    }

    private static Table table(PoolView pool, int blockSize, @Nullable Integer window, int[] blocks) {
        int[] references = new int[blocks.length];
        boolean[] keyed = new boolean[blocks.length];
        for (int i = 0; i < blocks.length; i++) {
            references[i] = pool.references(blocks[i]);
            keyed[i] = pool.isKeyed(blocks[i]);
        }
        return new Table(blockSize, window, blocks, references, keyed);
    }
}
