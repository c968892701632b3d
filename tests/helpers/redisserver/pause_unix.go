//go:build unix

package redisserver

import "syscall"

// Pause stops the process where it is: its connections stay, and nothing is answered until Resume.
func (s *Server) Pause() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume has a paused process go on.
func (s *Server) Resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
