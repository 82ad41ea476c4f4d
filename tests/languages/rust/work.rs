use std::{env, fs, io, thread};

pub fn work(line: &str) -> io::Result<String> {
    let memory = vec![1u8; 512 << 20];
    let sums = thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| memory[..100_000].iter().map(|&n| u64::from(n)).sum())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<u64>>()
    });
    let joined = sums.iter().filter(|&&sum| sum == 100_000).count();
    let path = env::temp_dir().join("line");
    fs::write(&path, line)?;
    Ok(format!("{} {} {joined}", fs::read_to_string(path)?, memory.len() >> 20))
}
