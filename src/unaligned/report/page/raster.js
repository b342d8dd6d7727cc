// Raster: many dots, fast. A dot is a small stamp of opacities, blended pixel by pixel.

const stamps = new Map();

// Whether a point of the unit circle's square is inside a shape.
const INSIDE = {
  disc: (x, y) => x * x + y * y <= 1,
  ring: (x, y) => x * x + y * y <= 1 && x * x + y * y >= 0.36,
  square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) <= 0.86,
  triangle: (x, y) => y <= 0.75 && y >= 1.9 * Math.abs(x) - 1.15,
  diamond: (x, y) => Math.abs(x) + Math.abs(y) <= 1.15,
};

// Pixels of a shape, as [dx, dy, opacity in 256ths], four samples a side each.
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

function blankImage(width, height, [r, g, b]) {
  const image = new ImageData(width, height);
  new Uint32Array(image.data.buffer).fill((255 << 24) | (b << 16) | (g << 8) | r);
  return image;
}

// Blend a stamp into an image at pixel (x, y), which may lie outside of it.
function press(image, stamp, x, y, colour, opacity) {
  const { width, height, data } = image;
  const [r, g, b] = colour;
  for (let i = 0; i < stamp.length; i += 3) {
    const px = x + stamp[i], py = y + stamp[i + 1];
    if (px < 0 || py < 0 || px >= width || py >= height) continue;
    const at = 4 * (py * width + px);
    const share = opacity * stamp[i + 2];
    data[at] += ((r - data[at]) * share) / 256;
    data[at + 1] += ((g - data[at + 1]) * share) / 256;
    data[at + 2] += ((b - data[at + 2]) * share) / 256;
  }
}
