package dev.warmpath.tokenization.bpe;

import static dev.warmpath.tokenization.bpe.CharClass.LETTER;
import static dev.warmpath.tokenization.bpe.CharClass.LOWER;
import static dev.warmpath.tokenization.bpe.CharClass.MARK;
import static dev.warmpath.tokenization.bpe.CharClass.NEWLINE;
import static dev.warmpath.tokenization.bpe.CharClass.NUMBER;
import static dev.warmpath.tokenization.bpe.CharClass.OTHER;
import static dev.warmpath.tokenization.bpe.CharClass.SIGN;
import static dev.warmpath.tokenization.bpe.CharClass.SPACE;
import static dev.warmpath.tokenization.bpe.CharClass.UPPER;

/**
 * A pre-tokenizer: cuts text into the words that are merged each by itself. Written by hand for the patterns that
 * published models use; each character is in a word, so that words stand without gaps.
 *
 * <p>A regular expression takes the first of its alternatives that matches, not the longest. Each class names its
 * alternatives in their order. Cost: each character is looked at a few times at most, except for white space, of which
 * all patterns give up the last character; that is once a run.
 */
sealed interface WordPattern {
    /** Instead of an end: the word begins with a character of {@link CharClass#DISPUTED}. */
    int DISPUTED_WORD = -1;

    /**
     * @param text  UTF-8, {@link Utf8#PADDING padded}
     * @param from  where the word begins, below {@code limit}
     * @param limit where the text ends
     * @return where the word ends, or {@link #DISPUTED_WORD}
     */
    int wordEnd(byte[] text, int from, int limit);

    /**
     * No pre-tokenizer, or one that cuts before spaces and nowhere else. Seams make words of what would be one word of
     * a whole text otherwise.
     * @param spacesApart whether the pre-tokenizer cuts before each space
     */
    record AtSeams(Seams seams, boolean spacesApart) implements WordPattern {
        @Override
        public int wordEnd(byte[] text, int from, int limit) {
            int left = Utf8.codePoint(text, from);
            int width;
            for (int at = from + Utf8.width(text[from]); at < limit; at += width) {
                int right = Utf8.codePoint(text, at);
                if (right == ' ' && spacesApart || seams.isBetween(left, right)) {
                    return at;
                }
                left = right;
                width = Utf8.width(text[at]);
            }
            return limit;
        }
    }

    /** How far digits go together. */
    enum Digits {
        /** As the pattern has it: {@code  ?\p{N}+}. */
        OF_PATTERN,
        /** Cut apart before the pattern sees the text, as runs. */
        RUNS_APART,
        /** Cut apart before the pattern sees the text, one by one. */
        SINGLES_APART
    }

    /**
     * GPT-2's, which the library's {@code ByteLevel} has built in:
     * {@code 's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+}, with a
     * {@code Digits} pre-tokenizer before it or without. To the pattern, the text ends where digits were cut off.
     */
    record Gpt2(Digits digits) implements WordPattern {
        @Override
        public int wordEnd(byte[] text, int from, int limit) {
            int start = text[from] == ' ' && from + 1 < limit ? from + 1 : from;
            int kind = CharClass.at(text, start);
            if ((kind & LETTER) != 0) {
                return CharClass.runEnd(text, start, limit, LETTER);
            }
            if ((kind & OTHER) != 0) {
                int contraction = start == from ? Contraction.end(text, from, limit, false) : from;
                return contraction != from ? contraction : CharClass.runEnd(text, start, limit, OTHER);
            }
            if ((kind & NUMBER) != 0 && (start == from || digits == Digits.OF_PATTERN)) {
                return digits == Digits.SINGLES_APART ? start + Utf8.width(text[start])
                        : CharClass.runEnd(text, start, limit, NUMBER);
            }
            int end = CharClass.runEnd(text, from, limit, SPACE);
            boolean cut = digits != Digits.OF_PATTERN && end < limit && (CharClass.at(text, end) & NUMBER) != 0;
            return cut ? end : White.allButLast(text, from, end, limit);
        }
    }

    /**
     * OpenAI's cl100k, of Llama 3 and others, with up to three digits, and Qwen 2's with one:
     * {@code (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|}
     * {@code \s*[\r\n]+|\s+(?!\S)|\s+}.
     */
    record Cl100k(int maxDigits) implements WordPattern {
        @Override
        public int wordEnd(byte[] text, int from, int limit) {
            int kind = CharClass.at(text, from);
            if ((kind & LETTER) != 0) {
                return CharClass.runEnd(text, from, limit, LETTER);
            }
            if ((kind & NUMBER) != 0) {
                return White.upTo(maxDigits, text, from, limit);
            }
            int contraction = Contraction.end(text, from, limit, true);
            if (contraction != from) {
                return contraction;
            }
            int next = from + Utf8.width(text[from]);
            int nextKind = next < limit ? CharClass.at(text, next) : SPACE;
            if ((nextKind & LETTER) != 0 && (kind & NEWLINE) == 0 && kind != CharClass.DISPUTED) {
                return CharClass.runEnd(text, next, limit, LETTER);
            }
            if ((kind & OTHER) != 0 || text[from] == ' ' && (nextKind & OTHER) != 0) {
                return CharClass.runEnd(text, CharClass.runEnd(text, next, limit, OTHER), limit, NEWLINE);
            }
            return White.end(text, from, limit);
        }
    }

    /**
     * OpenAI's o200k, of GPT-4o and gpt-oss, where a word may change from upper to lower case once:
     * {@code [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+}
     * {@code (?i:'s|'t|'re|'ve|'m|'ll|'d)?|}
     * {@code [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:…)?|}
     * {@code \p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+}. Mistral's Tekken has it with one digit
     * and without contractions.
     */
    record O200k(int maxDigits, boolean contractions) implements WordPattern {
        @Override
        public int wordEnd(byte[] text, int from, int limit) {
            int kind = CharClass.at(text, from);
            if ((kind & NUMBER) != 0) {
                return White.upTo(maxDigits, text, from, limit);
            }
            int next = from + Utf8.width(text[from]);
            boolean prefix = (kind & (LETTER | NEWLINE)) == 0 && kind != CharClass.DISPUTED;
            int end = prefix ? lowerEnd(text, next, limit) : from;
            end = prefix && end != next ? end : lowerEnd(text, from, limit);
            if (end == from && prefix) {
                end = upperEnd(text, next, limit);
                end = end == next ? from : end;
            }
            end = end == from ? upperEnd(text, from, limit) : end;
            if (end != from) {
                return contractions && end < limit ? Contraction.end(text, end, limit, true) : end;
            }
            if ((kind & OTHER) != 0
                    || text[from] == ' ' && next < limit && (CharClass.at(text, next) & OTHER) != 0) {
                return slashesEnd(text, CharClass.runEnd(text, next, limit, OTHER), limit);
            }
            return White.end(text, from, limit);
        }

        /**
         * {@code [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+}. Where no small letter follows the
         * first run, it gives back as much as the second needs: all after its last character that both can take.
         */
        private static int lowerEnd(byte[] text, int from, int limit) {
            int at = from;
            int bothEnd = from;
            while (at < limit) {
                int kind = CharClass.at(text, at);
                if ((kind & LOWER) != 0) {
                    return lowerRunEnd(text, at, limit);
                }
                if ((kind & (LETTER | MARK)) == 0) {
                    break;
                }
                at += Utf8.width(text[at]);
                bothEnd = (kind & UPPER) == 0 ? at : bothEnd;
            }
            return bothEnd;
        }

        private static int lowerRunEnd(byte[] text, int from, int limit) {
            int at = from;
            while (at < limit) {
                int kind = CharClass.at(text, at);
                if ((kind & (LETTER | MARK)) == 0 || (kind & UPPER) != 0) {
                    break;
                }
                at += Utf8.width(text[at]);
            }
            return at;
        }

        /** The second alternative where the first does not match: nothing but {@code [\p{Lu}\p{Lt}]+}. */
        private static int upperEnd(byte[] text, int from, int limit) {
            return CharClass.runEnd(text, from, limit, UPPER);
        }

        private static int slashesEnd(byte[] text, int from, int limit) {
            int at = from;
            while (at < limit && (text[at] == '/' || text[at] == '\r' || text[at] == '\n')) {
                at++;
            }
            return at;
        }
    }

    /**
     * DeepSeek V3's. Numbers of up to three digits and runs of {@code [一-龥぀-ゟ゠-ヿ]} are cut off first; to the
     * pattern, what is between them is a text of its own:
     * {@code [!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|}
     * {@code  ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+}. Characters that none of these takes are a word
     * together.
     */
    record DeepSeek3() implements WordPattern {
        @Override
        public int wordEnd(byte[] text, int from, int limit) {
            int kind = CharClass.at(text, from);
            if ((kind & NUMBER) != 0) {
                return White.upTo(3, text, from, limit);
            }
            boolean cut = isCutOff(text, from);
            if ((kind & (LETTER | MARK)) != 0) {
                return runEnd(text, from, limit, LETTER | MARK, cut);
            }
            int next = from + Utf8.width(text[from]);
            if ((kind & SIGN) != 0) {
                int letters = text[from] < 0 ? next : latinEnd(text, next, limit);
                return letters != next ? letters : signsEnd(text, next, limit, cut);
            }
            if (kind == CharClass.DISPUTED) {
                return DISPUTED_WORD;
            }
            int nextKind = next < limit && isCutOff(text, next) == cut ? CharClass.at(text, next) : CharClass.DISPUTED;
            if ((nextKind & (LETTER | MARK)) != 0 && (kind & NEWLINE) == 0) {
                return runEnd(text, next, limit, LETTER | MARK, cut);
            }
            if ((nextKind & SIGN) != 0 && text[from] == ' ') {
                return signsEnd(text, next, limit, cut);
            }
            return (kind & SPACE) != 0 ? whiteEnd(text, from, limit) : restEnd(text, from, limit, cut);
        }

        /** Whether a character is one of {@code [一-龥぀-ゟ゠-ヿ]}. */
        private static boolean isCutOff(byte[] text, int at) {
            if (text[at] >= (byte) 0xE3 && text[at] <= (byte) 0xE9) {
                int c = Utf8.codePoint(text, at);
                return c >= 0x3040 && c <= 0x30FF || c >= 0x4E00 && c <= 0x9FA5;
            }
            return false;
        }

        /** @param cut whether the run is of characters that are cut off, or of others */
        private static int runEnd(byte[] text, int from, int limit, int wanted, boolean cut) {
            int at = from;
            while (at < limit && (CharClass.at(text, at) & wanted) != 0 && isCutOff(text, at) == cut) {
                at += Utf8.width(text[at]);
            }
            return at;
        }

        private static int latinEnd(byte[] text, int from, int limit) {
            int at = from;
            while (at < limit && (text[at] | 0x20) >= 'a' && (text[at] | 0x20) <= 'z') {
                at++;
            }
            return at;
        }

        /** Line breaks are taken along. */
        private static int signsEnd(byte[] text, int from, int limit, boolean cut) {
            int end = runEnd(text, from, limit, SIGN, cut);
            return cut ? end : CharClass.runEnd(text, end, limit, NEWLINE);
        }

        private static int whiteEnd(byte[] text, int from, int limit) {
            int end = CharClass.runEnd(text, from, limit, SPACE);
            boolean atCut = end < limit && ((CharClass.at(text, end) & NUMBER) != 0 || isCutOff(text, end));
            return White.end(text, from, atCut ? end : limit);
        }

        /** Up to where the pattern matches again: only a letter or mark makes a word of the character before it. */
        private static int restEnd(byte[] text, int from, int limit, boolean cut) {
            int last = from;
            int at = from + Utf8.width(text[from]);
            while (at < limit && isRest(text, at) && isCutOff(text, at) == cut) {
                last = at;
                at += Utf8.width(text[at]);
            }
            boolean takesLast = at < limit && (CharClass.at(text, at) & (LETTER | MARK)) != 0
                    && isCutOff(text, at) == cut;
            return takesLast ? last : at;
        }

        private static boolean isRest(byte[] text, int at) {
            return (CharClass.at(text, at) & (OTHER | MARK | SIGN)) == OTHER;
        }
    }
}
