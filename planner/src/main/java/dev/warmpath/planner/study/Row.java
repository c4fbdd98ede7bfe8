package dev.warmpath.planner.study;

import dev.warmpath.planner.simulation.Report;

/**
 * What came of a cell.
 *
 * @param cacheBlocks of each worker's pool
 */
public record Row(Cell cell, long cacheBlocks, Report report) {}
