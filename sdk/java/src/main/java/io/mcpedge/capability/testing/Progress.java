package io.mcpedge.capability.testing;

/**
 * Progress that a handler sent.
 *
 * @param total 0 means unknown
 */
public record Progress(double progress, double total, String message) {}
