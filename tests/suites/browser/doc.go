// Package browser drives the page about the last calls, which `mcpedge --dev` serves, in a headless
// Chromium. It is a module of its own, so that what it needs weighs on nobody else, and knows of the edge
// no more than its binary: `make stages ONLY=browser` builds that and says where it is.
package browser
