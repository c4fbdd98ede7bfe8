package dev.warmpath.protocol.fleet;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * What some workers can and others would pass over: they tell theirs at registration, and a request that needs one goes
 * to those only. What every worker of {@link Protocol#VERSION} can is none.
 */
public enum Ability {

    /** Follows {@link dev.warmpath.protocol.generate.LogitRules}, and draws no end token before the least number. */
    LOGIT_RULES,
    /** Tells log-probabilities of drawn tokens, of the prompt's, and of the likeliest ones beside. */
    LOGPROBS,
    /** Gives several answers to one prompt. */
    CHOICES;

    /** As it is written in a registration. */
    public String text() {
        return name().toLowerCase(Locale.ROOT);
    }

    /** Those that this end knows: a newer worker may have others. */
    public static Set<Ability> known(List<String> texts) {
        Set<Ability> known = EnumSet.noneOf(Ability.class);
        Arrays.stream(values()).filter(ability -> texts.contains(ability.text())).forEach(known::add);
        return known;
    }
}
