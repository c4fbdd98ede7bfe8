package dev.warmpath.cli.bench;

import dev.warmpath.workload.Prompt;
import dev.warmpath.workload.Session;
import dev.warmpath.workload.Turn;
import java.util.ArrayList;
import java.util.List;
import tools.jackson.databind.node.ObjectNode;

/**
 * One session as it is held with a server: where a load's prompt has what was answered before, there stand the server's
 * own answers. A prompt with n stretches of answers has those of the n turns before it: a session may begin anew.
 */
final class Conversation {

    private final Session session;
    private final Served served;
    private final Scale scale;
    private final long seed;
    private final List<Answer> answers = new ArrayList<>();

    Conversation(Session session, Served served, Scale scale, long seed) {
        this.session = session;
        this.served = served;
        this.scale = scale;
        this.seed = seed;
    }

    long startMicros() {
        return session.startMicros();
    }

    /** So many have not been answered. */
    int turnsLeft() {
        return session.turns().size() - answers.size();
    }

    boolean isOver() {
        return answers.size() == session.turns().size();
    }

    /** Before the next turn. */
    long thinkMicros() {
        return answers.isEmpty() ? 0 : session.thinkMicros()[answers.size() - 1];
    }

    /** Whether prompt and answer of the next turn have room in the model's context. */
    boolean fits() {
        Turn turn = next();
        return served.contextTokens() == 0
                || scale.promptTokens(turn.prompt()) + scale.answerTokens(turn) <= served.contextTokens();
    }

    private Turn next() {
        return session.turns().get(answers.size());
    }

    /** The request of the next turn. */
    ObjectNode request() {
        Turn turn = next();
        ObjectNode body = served.body(scale.answerTokens(turn));
        if (served.spelling().wantsIds() && answers.size() + 1 < session.turns().size()) {
            body.put("return_token_ids", true);
        }
        Spelling.Writer writer = served.spelling().writer(seed);
        write(turn.prompt(), writer);
        writer.into(body);
        return body;
    }

    private void write(Prompt prompt, Spelling.Writer writer) {
        long[] pieces = prompt.pieces();
        int stretch = answers.size() - stretches(pieces);
        for (int i = 0; i < pieces.length; i++) {
            if (pieces[i] != Prompt.ANSWER) {
                writer.piece(pieces[i], scale.tokens(prompt, i));
            } else if (i == 0 || pieces[i - 1] != Prompt.ANSWER) {
                writer.answer(answers.get(stretch++));
            }
        }
    }

    private static int stretches(long[] pieces) {
        int stretches = 0;
        for (int i = 0; i < pieces.length; i++) {
            stretches += pieces[i] == Prompt.ANSWER && (i == 0 || pieces[i - 1] != Prompt.ANSWER) ? 1 : 0;
        }
        return stretches;
    }

    void answered(Answer answer) {
        answers.add(answer);
    }
}
