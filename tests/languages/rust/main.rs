mod work;

use std::io;

fn main() -> io::Result<()> {
    for line in io::stdin().lines() {
        match line?.as_str() {
            "FINISH" => break,
            line => println!("{}", work::work(line)?),
        }
    }
    Ok(())
}
