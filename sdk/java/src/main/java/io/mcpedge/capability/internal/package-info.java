/** What the packages of this library share. Programs do not use it: it may change in any version. */
package io.mcpedge.capability.internal;
