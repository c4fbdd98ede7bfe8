package dev.warmpath.tokenization.template;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What is seen of a template while it is parsed, beside what it does: the text that it writes itself, and in which form
 * it takes what a message says.
 *
 * <p>A template takes parts if it goes through the content of one of the messages: the rule of vLLM
 * ({@code renderers/hf.py}, {@code _detect_content_format}), which follows assignments of {@code messages} and of
 * slices of them by name, whatever their scope.
 */
final class TemplateFacts {
    private static final String MESSAGES = "messages";
    private static final String CONTENT = "content";
    /** No marker holds it, so none is found across two literals. */
    private static final char BETWEEN = '\0';

    /** A variable, or an entry of it, behind filters, tests and slices or not. */
    private record Access(String variable, @Nullable String key) {}

    /** A name that is given a value, or each of its items; null: several names, or a field. */
    private record Binding(@Nullable String name, Access value) {}

    private final StringBuilder literals = new StringBuilder();
    private final Map<String, List<Binding>> assignmentsByVariable = new HashMap<>();
    private final List<Binding> loops = new ArrayList<>();
    private boolean testsForStrings;
    private boolean asksForNone;

    /** What the template writes, and not the client. */
    void literal(String text) {
        literals.append(text).append(BETWEEN);
    }

    /** @param name null for several, or a field */
    void assigned(@Nullable String name, Expression value) {
        @Nullable Access access = access(value);
        if (access != null && access.key == null) {
            assignmentsByVariable.computeIfAbsent(access.variable, _ -> new ArrayList<>())
                    .add(new Binding(name, access));
        }
    }

    void loop(List<String> targets, Expression items) {
        @Nullable Access access = access(items);
        if (access != null) {
            loops.add(new Binding(targets.size() == 1 ? targets.getFirst() : null, access));
        }
    }

    void tested(String test, Expression tested) {
        testsForStrings |= test.equals("string");
        asksForNone |= test.equals("none") && CONTENT.equals(key(unwrapped(tested)));
    }

    void compared(Expression left, Expression right) {
        asksForNone |= right instanceof Expression.Constant(Value value) && value instanceof Value.None
                && CONTENT.equals(key(unwrapped(left)));
    }

    /** All text that the template writes itself, piece by piece with something between. */
    String literals() {
        return literals.toString();
    }

    ContentForm contentForm() {
        boolean parts = loopsOverContent();
        boolean text = !parts || testsForStrings;
        return new ContentForm(text, parts, /* none */ text && asksForNone);
    }

    private boolean loopsOverContent() {
        Set<String> lists = messageLists();
        var messages = new HashSet<String>();
        for (Binding loop : loops) {
            if (loop.value.key == null && lists.contains(loop.value.variable)) {
                if (loop.name == null) {
                    return false;                                // where vLLM's rule loses its way
                }
                messages.add(loop.name);
            }
        }
        for (Binding loop : loops) {
            if (CONTENT.equals(loop.value.key) && messages.contains(loop.value.variable)) {
                return loop.name != null;
            }
        }
        return false;
    }

    /** Names of the messages or some of them; none where vLLM's rule loses its way. */
    private Set<String> messageLists() {
        var lists = new HashSet<>(Set.of(MESSAGES));
        var left = new ArrayDeque<>(lists);
        while (!left.isEmpty()) {
            for (Binding assignment : assignmentsByVariable.getOrDefault(left.remove(), List.of())) {
                if (assignment.name == null) {
                    return Set.of();
                }
                if (lists.add(assignment.name)) {
                    left.add(assignment.name);
                }
            }
        }
        return lists;
    }

    private static @Nullable Access access(Expression expression) {
        Expression inner = unwrapped(expression);
        return switch (inner) {
            case Expression.Name(String name) -> new Access(name, null);
            case Expression.Attribute(Expression.Name(String name), String key, _, _) -> new Access(name, key);
            case Expression.Item(Expression.Name(String name), _, _) when key(inner) != null ->
                new Access(name, key(inner));
            default -> null;
        };
    }

    /** Without filters, tests and slices around it. */
    private static Expression unwrapped(Expression expression) {
        Expression inner = expression;
        while (true) {
            if (inner instanceof Expression.Call call && call.target() != null && call.otherwise() == null) {
                inner = call.target();
            } else if (inner instanceof Expression.Slice slice) {
                inner = slice.base();
            } else {
                return inner;
            }
        }
    }

    private static @Nullable String key(Expression entry) {
        return switch (entry) {
            case Expression.Attribute attribute -> attribute.name();
            case Expression.Item(_, Expression.Constant(Value value), _) when value instanceof Text text ->
                text.chars();
            default -> null;
        };
    }
}
