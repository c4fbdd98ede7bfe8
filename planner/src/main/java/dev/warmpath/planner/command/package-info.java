/**
 * What is called on the command line: options in, tables, JSON and pages out.
 * <p>Uses all packages beside it. Entered by {@link dev.warmpath.planner.command.PlanCommands}.
 */
@NullMarked
package dev.warmpath.planner.command;

import org.jspecify.annotations.NullMarked;
