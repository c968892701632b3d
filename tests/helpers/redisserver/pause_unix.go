//go:build unix

package redisserver

import "syscall"

// Pause suspends the process: its connections stay open, and nothing is answered until Resume.
func (s *Server) Pause() error { return s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume continues a paused process.
func (s *Server) Resume() error { return s.cmd.Process.Signal(syscall.SIGCONT) }
