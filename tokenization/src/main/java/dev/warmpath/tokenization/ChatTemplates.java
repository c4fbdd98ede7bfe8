package dev.warmpath.tokenization;

import dev.warmpath.tokenization.AddedTokenFinder.Match;
import dev.warmpath.tokenization.template.ChatMessage;
import dev.warmpath.tokenization.template.ChatTemplate;
import dev.warmpath.tokenization.template.RenderedPrompt;
import dev.warmpath.tokenization.template.TemplateException;
import java.util.BitSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A model's chat templates by name. The model loads and completes texts whatever they are: one that cannot be read
 * fails when it is used. Safe for concurrent use.
 */
final class ChatTemplates {
    static final String DEFAULT = "default";
    /** For conversations with tools, where a model has one of its own for these. */
    static final String TOOL_USE = "tool_use";

    private static final List<String> ROLES = List.of("system", "user", "assistant", "tool");
    private static final Logger log = LoggerFactory.getLogger(ChatTemplates.class);

    private final Map<String, String> sources;
    private final Map<String, ChatTemplate> templates = new HashMap<>();
    private final Map<String, TemplateException> faults = new HashMap<>();

    /** @param sources by name */
    ChatTemplates(Map<String, String> sources) {
        this.sources = Map.copyOf(sources);
        sources.forEach((name, source) -> {
            try {
                templates.put(name, ChatTemplate.compile(source));
            } catch (TemplateException e) {
                faults.put(name, e);
                log.warn("a chat template of this model, '{}', cannot be read, so chats by it are refused: {}", name,
                        e.getMessage());
            }
        });
    }

    /** All of them, or null if there is none. */
    @Nullable String source() {
        return sources.isEmpty() ? null : String.join("\n", sources.values());
    }

    /** Of those that cannot be read: the name, and why. */
    Map<String, String> faults() {
        return faults.entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, fault -> String.valueOf(fault.getValue().getMessage())));
    }

    /** Which of these the templates write: as a whole, or around a role. They may put others together from pieces. */
    Set<String> written(List<AddedToken> tokens) {
        String literals = templates.values().stream().map(ChatTemplate::literals).collect(Collectors.joining());
        AddedTokenFinder.Search search = new AddedTokenFinder(tokens).search(RenderedPrompt.trusted(literals));
        var written = new HashSet<String>();
        @Nullable Match found = search.next(0, new BitSet());
        while (found != null) {
            written.add(found.token().content());
            found = search.next(found.end(), new BitSet());
        }
        var pieces = new HashMap<String, Boolean>();
        for (AddedToken token : tokens) {
            if (isAroundRole(token.content(), piece -> pieces.computeIfAbsent(piece, literals::contains))) {
                written.add(token.content());
            }
        }
        return written;
    }

    private static boolean isAroundRole(String marker, Predicate<String> isWritten) {
        return ROLES.stream().anyMatch(role -> {
            int at = marker.indexOf(role);
            return at > 0 && at + role.length() < marker.length() && isWritten.test(marker.substring(0, at))
                    && isWritten.test(marker.substring(at + role.length()));
        });
    }

    /**
     * @param bosToken as of {@link ChatTemplate#render}, as all others
     * @throws TokenizationException NO_CHAT_TEMPLATE
     * @throws TemplateException     SYNTAX or UNSUPPORTED if the template cannot be read; or as of {@link ChatTemplate}
     */
    RenderedPrompt render(List<ChatMessage> messages, boolean addGenerationPrompt, @Nullable String bosToken,
            @Nullable String eosToken, Map<String, ?> variables) {
        String name = sources.containsKey(TOOL_USE) && variables.get("tools") != null ? TOOL_USE : DEFAULT;
        @Nullable ChatTemplate template = templates.get(name);
        if (template != null) {
            return template.render(messages, addGenerationPrompt, bosToken, eosToken, variables);
        }
        @Nullable TemplateException fault = faults.get(name);
        if (fault != null) {
            throw fault.again();
        }
        throw new TokenizationException(TokenizationException.Kind.NO_CHAT_TEMPLATE, (sources.isEmpty()
                ? "the model has no chat template" : "of the model's chat templates, " + new TreeSet<>(sources.keySet())
                + ", none is named '" + name + "'") + "; send its prompt as text", null);
    }
}
