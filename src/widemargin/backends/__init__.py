"""Where operations run. Each backend offers the operations that the solvers are written in."""
