// Raster: many dots, fast. A dot is a small stamp of opacities, blended pixel by pixel
// in whole numbers.

const stamps = new Map();

// Whether a point of the unit circle's square is inside a shape.
const INSIDE = {
  disc: (x, y) => x * x + y * y <= 1,
  ring: (x, y) => x * x + y * y <= 1 && x * x + y * y >= 0.36,
  square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.86,
  triangle: (x, y) => y <= 0.75 && y >= 1.9 * Math.abs(x) - 1.15,
  diamond: (x, y) => Math.abs(x) + Math.abs(y) <= 1.15,
};

// Pixels of a shape, as [dx, dy, share that it covers in 256ths], of four samples a side.
function stampOf(shape, radius) {
  const key = `${shape} ${radius}`;
  if (!stamps.has(key)) {
    const reach = Math.ceil(1.2 * radius);
    const pixels = [];
    for (let dy = -reach; dy <= reach; dy++) {
      for (let dx = -reach; dx <= reach; dx++) {
        let inside = 0;
        for (let sample = 0; sample < 16; sample++) {
          const x = dx + ((sample % 4) + 0.5) / 4 - 0.5;
          const y = dy + (Math.floor(sample / 4) + 0.5) / 4 - 0.5;
          if (INSIDE[shape](x / radius, y / radius)) inside++;
        }
        if (inside) pixels.push(dx, dy, inside * 16);
      }
    }
    stamps.set(key, Int16Array.from(pixels));
  }
  return stamps.get(key);
}

function blankImage(width, height, colour) {
  const image = new ImageData(width, height);
  image.pixels = new Uint32Array(image.data.buffer);
  image.pixels.fill((255 << 24) | pixelOf(colour));
  return image;
}

function pixelOf([r, g, b]) {
  return (b << 16) | (g << 8) | r;
}

// A stamp ready to be pressed: what every pixel keeps of its own colour, and what it
// gets of the ink's, in 128ths, so that red and blue fit into one number.
function inkOf(colour, shape, radius, opacity) {
  const stamp = stampOf(shape, radius);
  const ink = { stamp, reach: Math.ceil(1.2 * radius) };
  for (const part of ["keep", "redBlue", "green"]) ink[part] = new Int32Array(stamp.length / 3);
  for (let i = 0; i < ink.keep.length; i++) {
    const share = Math.round((128 * opacity * stamp[3 * i + 2]) / 256);
    ink.keep[i] = 128 - share;
    ink.redBlue[i] = (pixelOf(colour) & 0xff00ff) * share;
    ink.green[i] = colour[1] * share;
  }
  return ink;
}

// Blend ink into an image at pixel (x, y), which may lie outside of it.
function press({ width, height, pixels }, { stamp, reach, keep, redBlue, green }, x, y) {
  if (x < -reach || y < -reach || x >= width + reach || y >= height + reach) return;
  const isInside = x >= reach && y >= reach && x < width - reach && y < height - reach;
  for (let i = 0; i < keep.length; i++) {
    const px = x + stamp[3 * i], py = y + stamp[3 * i + 1];
    if (!isInside && (px < 0 || py < 0 || px >= width || py >= height)) continue;
    const at = py * width + px;
    const before = pixels[at];
    const both = (((before & 0xff00ff) * keep[i] + redBlue[i]) >>> 7) & 0xff00ff;
    const middle = (((before >>> 8) & 0xff) * keep[i] + green[i]) >>> 7;
    pixels[at] = 0xff000000 | both | (middle << 8);
  }
}
