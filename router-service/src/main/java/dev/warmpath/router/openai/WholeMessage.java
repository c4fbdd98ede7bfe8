package dev.warmpath.router.openai;

import dev.warmpath.router.answer.dialect.AnswerPart;
import java.util.ArrayList;
import java.util.List;

/** The parts of one choice, each kind by itself. */
final class WholeMessage {

    private final StringBuilder text = new StringBuilder();
    private final StringBuilder reasoning = new StringBuilder();
    private final List<Call> calls = new ArrayList<>();

    /** @param arguments JSON, if the model wrote some */
    record Call(String id, String name, StringBuilder arguments) {}

    void add(String more) {
        text.append(more);
    }

    void add(AnswerPart part) {
        switch (part) {
            case AnswerPart.Text more -> text.append(more.text());
            case AnswerPart.Reasoning more -> reasoning.append(more.text());
            case AnswerPart.Call call -> calls.add(new Call(call.id(), call.name(), new StringBuilder()));
            case AnswerPart.Arguments more -> calls.getLast().arguments().append(more.json());
        }
    }

    /** Empty if there is none. */
    String text() {
        return text.toString();
    }

    /** Empty if there is none. */
    String reasoning() {
        return reasoning.toString();
    }

    List<Call> calls() {
        return calls;
    }
}
