/** Internals that the packages of this library share. Not for programs: it may change in any version. */
package io.mcpedge.capability.internal;
