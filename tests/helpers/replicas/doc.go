// Package replicas runs several edges on one Redis behind a plain load balancer, as their operators do:
// processes of the built program that share nothing but Redis, and a round-robin proxy that knows no
// stickiness. Tests start, kill and roll them, and see which replica served what.
package replicas
