package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const stopWithin = 30 * time.Second

// process is one started program.
type process struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the program has ended
	err  error         // how it ended; read only after done
}

// start runs program with its output going to the file log.
func start(name, program, log string, args ...string) (*process, error) {
	out, err := os.Create(log)
	if err != nil {
		return nil, err
	}
	defer out.Close() // the program has its own copy
	p := &process{name: name, cmd: exec.Command(program, args...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = out, out
	bindToParent(p.cmd)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// stop asks the program to end and kills it when it does not within stopWithin. It reports a program
// that had ended on its own or had to be killed.
func (p *process) stop() error {
	select {
	case <-p.done:
		return fmt.Errorf("%s ended during the run: %v\n%s", p.name, p.err, tail(p.log))
	default:
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopWithin):
		err := killGroup(p.cmd)
		<-p.done
		return errors.Join(fmt.Errorf("%s did not stop within %s of SIGTERM and was killed\n%s", p.name, stopWithin, tail(p.log)), err)
	}
}

// tail returns the end of a file.
func tail(file string) string {
	const most = 4096
	raw, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	return string(raw[max(0, len(raw)-most):])
}

// freePorts returns n loopback addresses that were free a moment ago.
func freePorts(n int) ([]string, error) {
	var addrs []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // at the end, so that no port is handed out twice
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}
