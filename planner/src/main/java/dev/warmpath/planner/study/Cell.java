package dev.warmpath.planner.study;

import dev.warmpath.router.routing.PolicyName;

/**
 * One fleet under one policy.
 *
 * @param workers at least 1
 * @param routers at least 1
 */
public record Cell(int workers, int routers, CacheSize cache, PolicyName policy) {}
