// Package replicas runs several edges on one Redis behind a load balancer, as in production:
// processes of the built program that share only Redis, and a round-robin proxy without sticky
// sessions. Tests start, kill and roll replicas, and see which one served a request.
package replicas
