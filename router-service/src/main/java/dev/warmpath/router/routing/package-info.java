/**
 * The decision: which worker gives the first token soonest. A {@link dev.warmpath.router.routing.RoutingPolicy} is
 * pure, candidates in, {@link dev.warmpath.router.routing.Choice} with every term out;
 * {@link dev.warmpath.router.routing.RequestRouter} puts the candidates together from the fleet, the index and the
 * requests that this router has in flight ({@code Books}: by worker in {@code WorkerLedger}s, by prompt in a
 * {@code PromptTrie}), and reserves the winner's place. One decision is a {@code Deliberation}, between the workers of
 * a {@code Crew}; its {@code Candidates} are columns. What is placed is a
 * {@link dev.warmpath.router.routing.TokenizedPrompt}, the one form of a prompt from the tokenizer to the worker;
 * {@link dev.warmpath.router.routing.RecentChains} hashes it, what is new in it since the conversation's last turn.
 * <p>The policy is {@link dev.warmpath.router.routing.ExpectedFirstToken} unless settings say otherwise; those of other
 * projects are in {@code peers}, and {@code PolicyPlan} says which of them decides what.
 * <p>More than half of it are the values that a policy takes and gives, each a small record.
 * <p>Uses {@code fleet}, {@code models}, {@code health}, {@code prefix} and {@code protocol}. Used by
 * {@code completion}, {@code dispatch}, {@code admission}, {@code decisions}, {@code http} and {@code openai}.
 */
@NullMarked
package dev.warmpath.router.routing;

import org.jspecify.annotations.NullMarked;
