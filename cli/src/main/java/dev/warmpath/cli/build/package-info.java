/**
 * What has to be there before a fleet starts: the services, built by Maven from the checkout's sources, unpacked and
 * with an archive of their classes. Also how long work is shown, and how programs that do it end with the command.
 * <p>Uses {@code fleet}. Used by {@code start} and all commands that run a program of a service.
 */
@NullMarked
package dev.warmpath.cli.build;

import org.jspecify.annotations.NullMarked;
