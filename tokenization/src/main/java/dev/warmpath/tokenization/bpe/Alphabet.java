package dev.warmpath.tokenization.bpe;

import java.util.Arrays;

/** What words are spelled with before anything is merged: an id for each byte, or for each character. */
sealed interface Alphabet {
    /** Instead of an id: what the vocabulary lacks, and is left out. */
    int DROPPED = -1;

    /**
     * The word {@code text[from, to)} letter by letter.
     * @param ids receives their ids; an element for each byte of the word is enough
     * @return how many
     */
    int spell(byte[] text, int from, int to, int[] ids);

    /** The id of which neighbours are one, or {@link #DROPPED}. */
    int fusedId();

    /** @param ids by byte: its id, or {@link #DROPPED} */
    record Bytes(int[] ids) implements Alphabet {
        @Override
        public int spell(byte[] text, int from, int to, int[] out) {
            int count = 0;
            for (int i = from; i < to; i++) {
                int id = ids[text[i] & 0xFF];
                if (id != DROPPED) {
                    out[count++] = id;
                }
            }
            return count;
        }

        @Override
        public int fusedId() {
            return DROPPED;
        }
    }

    /** A character that the vocabulary lacks is spelled by its bytes, or is unknown. Filled once, then read by all. */
    final class Characters implements Alphabet {
        private static final int PAGE_BITS = 8;
        private static final int PAGE = 1 << PAGE_BITS;
        private static final int LACKING = -1;
        private static final int[] EMPTY_PAGE = new int[PAGE];

        static {
            Arrays.fill(EMPTY_PAGE, LACKING);
        }

        /** By the code point's upper bits, then by its lower ones: its id, or {@link #LACKING}. */
        private final int[][] pages = new int[Character.MAX_CODE_POINT + 1 >> PAGE_BITS][];
        /** By byte. */
        private final int[] lackingIds;
        private final boolean byBytes;
        private final int fusedId;

        private Characters(int[] lackingIds, boolean byBytes, int fusedId) {
            this.lackingIds = lackingIds;
            this.byBytes = byBytes;
            this.fusedId = fusedId;
            Arrays.fill(pages, EMPTY_PAGE);
        }

        /** @param byteIds the id of each byte that a character without id may have */
        static Characters withBytes(int[] byteIds) {
            return new Characters(byteIds, /* byBytes */ true, DROPPED);
        }

        /** @param fused whether unknown characters in a row are one */
        static Characters withUnknown(int unknownId, boolean fused) {
            var ids = new int[PAGE];
            Arrays.fill(ids, unknownId);
            return new Characters(ids, /* byBytes */ false, fused ? unknownId : DROPPED);
        }

        void put(int codePoint, int id) {
            int page = codePoint >> PAGE_BITS;
            if (pages[page] == EMPTY_PAGE) {
                pages[page] = EMPTY_PAGE.clone();
            }
            pages[page][codePoint & PAGE - 1] = id;
        }

        boolean has(int codePoint) {
            return id(codePoint) != LACKING;
        }

        private int id(int codePoint) {
            return pages[codePoint >> PAGE_BITS][codePoint & PAGE - 1];
        }

        @Override
        public int spell(byte[] text, int from, int to, int[] out) {
            int count = 0;
            int end;
            for (int at = from; at < to; at = end) {
                end = at + Utf8.width(text[at]);
                int id = id(Utf8.codePoint(text, at));
                if (id != LACKING) {
                    out[count++] = id;
                    continue;
                }
                for (int i = at; i < (byBytes ? end : at + 1); i++) {
                    out[count++] = lackingIds[text[i] & 0xFF];
                }
            }
            return count;
        }

        @Override
        public int fusedId() {
            return fusedId;
        }
    }
}
