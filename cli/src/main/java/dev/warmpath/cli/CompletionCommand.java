package dev.warmpath.cli;

import dev.warmpath.cli.fleet.Installation;
import java.util.Map;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code completion}: a script by which a shell completes commands and options. */
@Command(name = "completion", description = {"A script by which a shell completes commands and options.",
        "For warmpath and ./warmpath: source <(./warmpath completion bash)"})
final class CompletionCommand implements Runnable {

    /** By the names that picocli gives to its functions: which processes of the fleet can stand there. */
    private static final Map<String, String> IDS = Map.of("drain", "worker", "undrain", "worker",
            "resetcache", "worker", "restart", "router worker", "logs", "router worker redis",
            "profile", "router worker");
    private static final String NOTHING = "local positionals=\"\"";

    private final Installation installation;

    @Spec
    CommandSpec spec;

    @Parameters(paramLabel = "bash|zsh", description = "For which shell.")
    Shell shell = Shell.BASH;

    /** One script serves both: in zsh it turns bash's way of completion on. */
    enum Shell {
        BASH, ZSH
    }

    CompletionCommand(Installation installation) {
        this.installation = installation;
    }

    @Override
    public void run() {
        String script = AutoComplete.bash("warmpath", spec.root().commandLine());
        for (Map.Entry<String, String> command : IDS.entrySet()) {
            script = withIds(script, command.getKey(), command.getValue());
        }
        spec.commandLine().getOut().print(script + ids());
        spec.commandLine().getOut().flush();
    }

    private static String withIds(String script, String command, String roles) {
        int function = script.indexOf("function _picocli_warmpath_" + command + "() {");
        int at = function < 0 ? -1 : script.indexOf(NOTHING, function);
        if (at < 0) {
            throw new IllegalStateException("picocli writes its script in another way: " + command);
        }
        return script.substring(0, at) + "local positionals=$(_warmpath_ids \"" + roles + "\")"
                + script.substring(at + NOTHING.length());
    }

    /** Read when they are wanted: fleets come and go, and the script stays. For bash and zsh. */
    private String ids() {
        return """

                # Ids of the processes that run, from the fleet file, of these roles.
                function _warmpath_ids() {
                  local file=${WARMPATH_STATE:-%s}/fleet role id rest
                  [ -r "$file" ] || return 0
                  while read -r role id rest; do
                    case " $1 " in *" $role "*) printf '%%s\\n' "$id" ;; esac
                  done < "$file"
                }
                """.formatted("'" + installation.home().resolve(".warmpath").toString().replace("'", "'\\''") + "'");
    }
}
