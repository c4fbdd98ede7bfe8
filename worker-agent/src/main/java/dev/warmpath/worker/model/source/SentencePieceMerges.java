package dev.warmpath.worker.model.source;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Merges for a vocabulary of SentencePiece's, which has scores instead: any two neighbours become one if that is a
 * piece, the best score first. As merges, that is every way to cut a piece in two pieces, by its score. Source:
 * transformers, convert_slow_tokenizer.py, generate_merges.
 */
final class SentencePieceMerges {

    record Merge(String left, String right) {
    }

    private record Scored(Merge merge, float score, int leftLength, int rightLength) {
    }

    /** SentencePiece makes them of 16 at most, unless it is told otherwise. */
    static final int MOST_CHARS = 512;
    /** Twice those of the largest published vocabulary, 262,144 pieces. */
    static final int MOST_MERGES = 1 << 20;

    private SentencePieceMerges() {}

    /**
     * @param scores by id
     * @return the first to be merged first
     * @throws dev.warmpath.worker.model.weights.WeightFileException if a piece is longer, or merges are more, than any
     *         vocabulary has
     */
    static List<Merge> of(GgufVocabulary vocabulary, float[] scores) {
        List<Scored> merges = new ArrayList<>();
        for (int id = 0; id < vocabulary.size(); id++) {
            int length = vocabulary.text(id).length();
            if (length > MOST_CHARS || merges.size() > MOST_MERGES) {
                throw vocabulary.refused("has token %d, of %d characters, behind %d merges, takes %d and %d"
                        .formatted(id, length, merges.size(), MOST_CHARS, MOST_MERGES));
            }
            if (vocabulary.isMerged(id)) {
                addCuts(vocabulary, vocabulary.text(id), scores[id], merges);
            }
        }
        // what is equal in all three stays in the order of ids
        merges.sort(Comparator.comparing(Scored::score).thenComparing(Scored::leftLength)
                .thenComparing(Scored::rightLength).reversed());
        return merges.stream().map(Scored::merge).toList();
    }

    private static void addCuts(GgufVocabulary vocabulary, String piece, float score, List<Scored> merges) {
        int length = piece.codePointCount(0, piece.length());
        int at = 0;
        for (int left = 1; left < length; left++) {
            at = piece.offsetByCodePoints(at, 1);
            var merge = new Merge(piece.substring(0, at), piece.substring(at));
            if (isMerged(vocabulary, merge.left) && isMerged(vocabulary, merge.right)) {
                merges.add(new Scored(merge, score, left, length - left));
            }
        }
    }

    private static boolean isMerged(GgufVocabulary vocabulary, String part) {
        int id = vocabulary.id(part);
        return id != GgufVocabulary.NONE && vocabulary.isMerged(id);
    }
}
