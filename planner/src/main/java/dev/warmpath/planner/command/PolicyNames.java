package dev.warmpath.planner.command;

import dev.warmpath.planner.simulation.Policies;
import dev.warmpath.router.routing.PolicyName;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.ParameterException;

/** What {@code --policy} takes. */
final class PolicyNames implements Iterable<String> {

    static final String ALL = "all";

    @Override
    public Iterator<String> iterator() {
        return Policies.names().iterator();
    }

    /** @throws ParameterException if there is no such policy. @param command that was called with them */
    static List<PolicyName> of(List<String> names, CommandLine command) {
        if (names.equals(List.of(ALL))) {
            return List.copyOf(Policies.all().keySet());
        }
        List<PolicyName> policies = new ArrayList<>();
        for (String name : names) {
            PolicyName policy = Policies.named(name);
            if (policy == null) {
                throw new ParameterException(command, "--policy " + name + " is none of "
                        + String.join(", ", Policies.names()) + ", all");
            }
            policies.add(policy);
        }
        return policies;
    }
}
