// Generic functions, closures, traits and constants in names.
use std::collections::HashMap;

struct Grid<T, const N: usize, const B: bool>([T; N]);

trait Shape {
    fn cells(&self) -> Vec<u8>;
}

impl<T: Copy + Into<f64>, const N: usize, const B: bool> Shape for Grid<T, N, B> {
    #[inline(never)]
    fn cells(&self) -> Vec<u8> {
        self.0.iter().map(|v| (*v).into() as u8).collect()
    }
}

#[inline(never)]
fn apply<F: Fn(usize) -> Vec<u8>>(f: F) -> usize {
    f(100).len()
}

mod deep {
    pub mod er {
        #[inline(never)]
        pub fn boxed<T>(value: T) -> Box<T> {
            Box::new(value)
        }
    }
}

fn main() {
    let n = std::env::args().count();
    let grid = Grid::<f32, 3, true>([n as f32; 3]);
    let mut map = HashMap::new();
    map.insert(n, grid.cells());
    let text: String = (0..n).map(|i| i.to_string()).collect();
    println!("{:?} {} {}", map, apply(|k| vec![n as u8; k]), deep::er::boxed((text, n)).1);
}
